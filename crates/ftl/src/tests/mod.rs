//! Tests of the whole controller: properties, reference models, planted bugs, closed forms.

mod adopted;
mod copying;
mod driver;
mod figures;
mod flash;
mod paging;
mod partitions;
mod ranges;
mod reach;
mod reference_caftl;
mod reference_map;
mod reference_online;
mod reference_priority_lru;
mod reference_replication;
mod reference_spread;
mod reference_victim;
mod restored;
mod retired;
mod sabotage;
mod spread_relations;
mod spreading;
mod swarm;
mod table_pages;
mod tables;
mod trim;
mod units;
mod wear;
mod write_amplification;

pub(crate) use driver::{ds_ftl, geometry, reload};
pub(crate) use flash::{fill, flash};
pub(crate) use sabotage::{Bug, mislaid, planted};
