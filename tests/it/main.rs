//! One binary for all tests of the whole product, so that it links once.

mod bad_input;
mod catalog;
mod commands;
mod crm;
mod crm_answers;
mod crm_faults;
mod databases;
mod desk;
mod dialog;
mod model;
mod replicas;
mod restart;
mod sandbox;
mod shelf;
mod slots;
mod taps;
mod telegram_faults;
mod world;
