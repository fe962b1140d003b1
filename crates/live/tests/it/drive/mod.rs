//! The drive's guarantees.

mod counts;
mod cuts;
mod damage;
mod damaged;
mod faults;
mod files;
mod model;
mod oracle;
mod scene;
mod threads;
