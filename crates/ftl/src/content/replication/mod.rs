//! Copies of popular contents. One policy a file; one row of the table below registers it.

mod chips;
mod config;
mod contract;
mod copy_queue;
mod copying;
pub mod degree;
mod earning;
mod end_of_period;
mod on_line;
mod planned;
// The example of docs/adding-a-policy.md.
#[cfg(test)]
#[path = "../../tests/added/one_each.rs"]
#[allow(dead_code)] // nobody builds it: it has no row below
mod one_each;
pub mod placement;
mod priority_lru;

use flashtwin_bits::{Loader, Saver, State, StateResult};
use flashtwin_nand::Geometry;

pub use config::ReplicationConfig;
use contract::Replication;
pub(crate) use copying::Replicator;
use degree::Degrees;
use earning::Earning;
#[cfg(test)]
pub(crate) use priority_lru::PriorityLru;

use crate::foreign::{Foreign, ForeignName};
use crate::rng::Rng;

struct Parts<'a> {
    rules: &'a ReplicationConfig,
    geometry: &'a Geometry,
    seed: u64,
    foreign: &'a Foreign,
}

impl Parts<'_> {
    fn planned(&self, name: ForeignName) -> planned::Planned {
        let chips = self.geometry.chips() as usize;
        planned::Planned { rule: self.foreign.rule("replication.period", name, &[chips; 7]) }
    }

    fn earning(&self) -> Earning {
        let (rules, chips) = (self.rules, self.geometry.chips());
        let degrees = Degrees::new(rules, chips, self.foreign);
        let rng = Rng::stream(self.seed, "replica placement");
        let placement =
            rules.placement.build(rules.score_popularity, rules.score_ties, rng, chips, self.foreign);
        Earning::new(degrees, placement, rules.score_popularity, rules.adjust_every)
    }
}

/// Declares the policies' names and their enum. It is no box of the trait, because each read of the host asks it.
macro_rules! replications {
    ($parts:ident; $($(#[$doc:meta])* $Name:ident: $Policy:ty => $build:expr;)+) => {
        crate::policies::policies! {
            /// When contents are copied.
            pub enum ReplicationPolicy;
            @ name ["copies-at-period-ends", "replicates"];

            /// Never.
            #[default]
            None;
            $($(#[$doc])* $Name;)+
        }

        impl ReplicationPolicy {
            /// Whether copies are earned by the popularity of contents.
            pub fn counts_popularity(self) -> bool {
                match self {
                    Self::None => false,
                    Self::Foreign(_) => planned::Planned::COUNTS_POPULARITY,
                    $(Self::$Name => <$Policy>::COUNTS_POPULARITY,)+
                }
            }

            /// Whether copies are made at the ends of periods, in a phase of their own.
            pub fn copies_at_period_ends(self) -> bool {
                match self {
                    Self::None => false,
                    Self::Foreign(_) => planned::Planned::COPIES_AT_PERIOD_ENDS,
                    $(Self::$Name => <$Policy>::COPIES_AT_PERIOD_ENDS,)+
                }
            }

            fn build(self, $parts: &Parts<'_>) -> Option<Policy> {
                match self {
                    Self::None => None,
                    Self::Foreign(name) => Some(Policy::Planned($parts.planned(name))),
                    $(Self::$Name => Some(Policy::$Name($build)),)+
                }
            }
        }

        #[derive(Clone)]
        enum Policy {
            $($Name($Policy),)+
            Planned(planned::Planned),
        }

        /// The same call, whichever policy it is.
        macro_rules! ask {
            ($policy:expr, $it:ident => $call:expr) => {
                match $policy {
                    $(Policy::$Name($it) => $call,)+
                    Policy::Planned($it) => $call,
                }
            };
        }

        use ask;
    };
}

replications! { parts;
    /// At the end of each period, from the most popular content down (RR-SSD paper III.B).
    #[schemars(extend("x-traits" = ["copies-at-period-ends", "counts-popularity", "replicates"]))]
    EndOfPeriod: end_of_period::EndOfPeriod => end_of_period::EndOfPeriod::new(parts.earning(), parts.rules.equals);
    /// As soon as a read earns one, in idle time (RR-SSD paper IV.B.4). Period ends still zero the
    /// counters and drop copies that are no longer earned.
    #[schemars(extend("x-traits" = ["background-jobs", "counts-popularity", "replicates", "weighs-load"]))]
    OnLine: on_line::OnLine => on_line::OnLine::new(parts.earning(), parts.geometry.chips());
    /// As soon as a page has been read often and recently enough, in idle time: priority-LRU over
    /// physical pages (PBLRU, as in RR-SSD paper IV.B.3). It has no periods, degrees or placements.
    #[schemars(extend("x-traits" = ["background-jobs", "replicates", "weighs-load"]))]
    PriorityLru: priority_lru::PriorityLru =>
        priority_lru::PriorityLru::new(parts.geometry.chips(), parts.rules.class_pages);
}

impl State for Policy {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        ask!(self, policy => policy.save(to))
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        ask!(self, policy => policy.load(from))
    }
}
