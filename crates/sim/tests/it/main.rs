//! The simulator as its users see it: command sequences by hand, closed forms, a swarm.

mod aged;
mod allocation;
mod awaited;
mod bench;
mod collection_load;
mod commands;
mod copying;
mod drawn;
mod flush;
mod garbage_collection;
mod holes;
mod mapping_cache;
mod measured;
mod multi_plane;
mod plain;
mod queueing;
mod relations;
mod requests;
mod spreading;
mod statements;
mod swarm;
mod temperature;
mod traces;
mod twin;
mod write_buffer;
mod write_cache;
