//! One binary for all tests of the whole product, so that it links once.
#![expect(unreachable_pub, reason = "a test binary has no outside; `pub` here means beyond its own file")]

mod catalog;
mod crash;
mod crm;
mod crm_faults;
mod databases;
mod desk;
mod dialog;
mod docs;
mod layout;
mod sandbox;
mod world;
