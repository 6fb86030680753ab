//! Tickets as they leave for the CRM.
