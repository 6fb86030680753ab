//! One binary for all tests of the whole product, so that it links once.

mod browser;
mod catalog;
mod command;
mod crm;
mod model;
mod sandbox;
