//! One binary for all tests of the whole product, so that it links once.
#![expect(unreachable_pub, reason = "a test binary has no outside; `pub` here means beyond its own file")]

mod bad_input;
mod browser;
mod catalog;
mod command;
mod commands;
mod crash;
mod crm;
mod crm_answers;
mod crm_faults;
mod databases;
mod desk;
mod dialog;
mod docs;
mod kill;
mod layout;
mod mistakes;
mod model;
mod probe;
mod real_crms;
mod reference;
mod repeat;
mod replicas;
mod restart;
mod sandbox;
mod shelf;
mod slots;
mod taps;
mod telegram_faults;
mod web;
mod world;
