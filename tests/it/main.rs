//! One binary for all tests of the whole product, so that it links once.

mod catalog;
mod crm;
mod crm_answers;
mod crm_faults;
mod databases;
mod dialog;
mod model;
mod sandbox;
mod taps;
mod world;
