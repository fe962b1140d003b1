//! Which chip serves a read. One policy a file; one row registers its name.

mod any_chip;
mod foreign;
mod home;
mod replicas;
mod ties;

pub use ties::TieRule;

use crate::foreign::Foreign;
use crate::policies::policies;
use flashtwin_nand::{Geometry, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::loads::LoadView;
use crate::op::ReadTarget;
use ties::Ties;

/// Chooses where a read is served, when it arrives.
pub trait Redirection: Send + dyn_clone::DynClone + flashtwin_bits::State {
    /// `home` is the first copy, `replicas` the further ones.
    fn choose(&self, home: Ppn, replicas: &[Ppn], loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget;

    /// Whether a further copy may be read instead of the first one.
    fn reads_replicas(&self) -> bool {
        false
    }
}

dyn_clone::clone_trait_object!(Redirection);

/// Choice of the chip that serves a read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedirectionConfig {
    /// Copy that serves a read.
    pub policy: RedirectionPolicy,
    /// Copy that serves a read where several are equally loaded. The papers name no rule.
    #[schemars(extend("x-when" = "redirects"))]
    pub ties: TieRule,
}

impl RedirectionConfig {
    pub(crate) fn build(&self, seed: u64, foreign: &Foreign) -> Box<dyn Redirection> {
        self.policy.build(Ties::new(self.ties, seed), foreign)
    }
}

policies! {
    /// Copy that serves a read.
    pub enum RedirectionPolicy;
    fn build(ties: Ties, foreign: &Foreign) -> Box<dyn Redirection>;
    @ name ["redirects", "weighs-load"] => Box::new(foreign::ForeignRedirection::new(name, foreign));

    /// Always the home copy.
    #[default]
    Home => Box::new(home::Home);
    /// The copy on the chip with the lowest load (RR-SSD paper III.B).
    #[schemars(extend("x-traits" = ["redirects", "weighs-load"]))]
    Replicas => Box::new(replicas::Replicas { ties });
    /// Any chip of the device, as if each had every page: RR-SSD's Oracle (Ideal-All-Chip
    /// Replication). No bound: it sees queues and not the bus.
    #[schemars(extend("x-traits" = ["bound", "redirects", "weighs-load"]))]
    AnyChip => Box::new(any_chip::AnyChip { ties });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(policy: RedirectionPolicy) -> Box<dyn Redirection> {
        RedirectionConfig { policy, ..RedirectionConfig::default() }.build(1, &Foreign::default())
    }

    use flashtwin_nand::{Chip, Plane};

    #[test]
    fn each_policy_reads_where_it_says() {
        let g = crate::tests::ds_ftl();
        let plane = |chip: u32| Plane::new(chip * g.planes_per_chip());
        let page = |chip| g.ppn(plane(chip), 0, 0);
        let mut chip = [5; 16];
        chip[7] = 1;
        chip[9] = 2;
        let unit: Vec<u32> = chip.iter().flat_map(|&load| [load, load / 2]).collect();
        let loads = LoadView::new(&chip, &unit);
        let choose =
            |policy: RedirectionPolicy, replicas: &[Ppn]| build(policy).choose(page(3), replicas, &loads, &g);
        let home = choose(RedirectionPolicy::Home, &[page(9)]);
        assert_eq!((home.ppn, home.redirected), (page(3), false));
        let copy = choose(RedirectionPolicy::Replicas, &[page(4), page(9)]);
        assert_eq!((copy.ppn, copy.redirected), (page(9), true));
        let tie = choose(RedirectionPolicy::Replicas, &[page(4)]);
        assert_eq!((tie.ppn, tie.redirected), (page(3), false), "equal loads stay at home");
        let by_unit = LoadView { units_decide: true, ..loads };
        let copy = build(RedirectionPolicy::Replicas).choose(
            page(3),
            &[g.ppn(Plane::new(plane(9).number() + 1), 0, 0)],
            &by_unit,
            &g,
        );
        assert!(copy.redirected, "2 before 5, whatever the chips");
        let any = choose(RedirectionPolicy::AnyChip, &[]);
        assert_eq!((g.chip_of_plane(any.plane), any.ppn, any.redirected), (Chip::new(7), page(3), true));
        // Only a policy that declares reads of further copies may choose them: one may exist before
        // the first does.
        for policy in RedirectionPolicy::ALL {
            let reads = choose(policy, &[page(9)]).ppn == page(9);
            assert_eq!(build(policy).reads_replicas(), reads, "{policy:?}");
        }
    }

    #[test]
    fn any_chip_reads_on_the_idlest_chip_and_die() {
        // Chips of two dies of two planes.
        let g = crate::tests::ds_ftl();
        let plane = |chip: u32, place: u32| Plane::new(chip * 4 + place);
        let any_chip = build(RedirectionPolicy::AnyChip);
        let choose = |home: Plane, of_chip_7: [u32; 2]| {
            let mut unit = [9; 32];
            unit[14..16].copy_from_slice(&of_chip_7);
            let mut chip = [18; 16];
            chip[7] = of_chip_7.iter().sum();
            let target = any_chip.choose(g.ppn(home, 0, 0), &[], &LoadView::new(&chip, &unit), &g);
            assert_eq!(target.ppn, g.ppn(home, 0, 0), "what is read is the home copy");
            (target.plane, target.redirected)
        };
        for place in 0..4 {
            assert_eq!(choose(plane(3, place), [2, 2]), (plane(7, place), true), "equal dies");
        }
        assert_eq!([2, 3].map(|place| choose(plane(3, place), [1, 2])), [(plane(7, 0), true); 2]);
        assert_eq!([0, 1].map(|place| choose(plane(3, place), [2, 1])), [(plane(7, 2), true); 2]);
        assert_eq!([0, 1].map(|place| choose(plane(3, place), [1, 2]).0), [plane(7, 0), plane(7, 1)]);
        assert_eq!(choose(plane(7, 1), [2, 1]), (plane(7, 2), false), "the other die of the home chip");
        assert_eq!(choose(plane(3, 1), [9, 9]), (plane(3, 1), false));
    }

    #[test]
    fn any_chip_of_a_device_of_one_is_the_home_place() {
        let g = crate::tests::geometry([1, 1, 2, 1, 4, 4]);
        let home = g.ppn(Plane::new(0), 0, 0);
        let target = build(RedirectionPolicy::AnyChip).choose(home, &[], &LoadView::new(&[5], &[5, 0]), &g);
        assert_eq!((target.ppn, target.plane, target.redirected), (home, Plane::new(0), false));
    }

    /// Three chips with a copy are idle, the home chip 3 is not. Who serves six reads in a row?
    #[test]
    fn ties_go_by_the_rule() {
        let g = crate::tests::ds_ftl();
        let page = |chip: u32| g.ppn(Plane::new(chip * g.planes_per_chip()), 0, 0);
        let mut chip = [1; 16];
        for idle in [7, 2, 9] {
            chip[idle] = 0;
        }
        let unit: Vec<u32> = chip.iter().flat_map(|&load| [load, load]).collect();
        let served = |policy, ties, times: usize| {
            let rule = RedirectionConfig { policy, ties }.build(1, &Foreign::default());
            let copies = [page(7), page(2), page(9)];
            let mut chips = |_| {
                let target = rule.choose(page(3), &copies, &LoadView::new(&chip, &unit), &g);
                g.chip_of_plane(target.plane).number()
            };
            (0..times).map(&mut chips).collect::<Vec<u32>>()
        };
        let (copies, any) = (RedirectionPolicy::Replicas, RedirectionPolicy::AnyChip);
        assert_eq!(served(copies, TieRule::Home, 3), [7, 7, 7], "the oldest copy");
        assert_eq!(served(any, TieRule::Home, 3), [7, 7, 7], "the next chip after the home chip");
        for policy in [copies, any] {
            assert_eq!(served(policy, TieRule::Lowest, 3), [2, 2, 2]);
            assert_eq!(served(policy, TieRule::NextInTurn, 6), [2, 7, 9, 2, 7, 9]);
            // From a chip of 16 drawn at random: 2 follows 9 chips, 7 follows 5 and 9 two.
            let drawn = served(policy, TieRule::Random, 16_000);
            for (chip, expected) in [(2, 9_000), (7, 5_000), (9, 2_000)] {
                let times = drawn.iter().filter(|&&one| one == chip).count();
                assert!(times.abs_diff(expected) < 250, "{policy:?}: chip {chip} {times} times");
            }
        }
        for ties in TieRule::ALL {
            assert_eq!(served(RedirectionPolicy::Home, ties, 2), [3, 3]);
        }
    }
}
