//! The drive's guarantees: against a plain array of bytes, through power cuts, from damaged images,
//! and with the same programs as a controller without a medium.

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
