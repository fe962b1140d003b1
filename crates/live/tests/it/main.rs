//! The served drive from outside: a client of the protocol written by hand, and malformed bytes.

mod common;
mod drive;
mod fair;
mod hostile;
mod leaving;
mod protocol;
mod recording;
