//! Which chip receives a copy. One policy a file; one row registers its name.

mod foreign;
mod random;
mod score;
mod successors;
// The example of docs/adding-a-policy.md.
#[cfg(test)]
#[path = "../../../tests/added/least_popular.rs"]
mod least_popular;

use crate::foreign::Foreign;
use crate::policies::policies;
use flashtwin_bits::By;
use flashtwin_nand::Chip;

use crate::ids::Vpn;
use crate::rng::Rng;

/// One chip as a placement sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChipView {
    /// Pages that hold nothing valid and may be used (S).
    pub free_pages: u64,
    /// Pages that hold valid data.
    pub stored_pages: u64,
    /// Erases of its blocks so far (E is this over `blocks`).
    pub erases: u64,
    /// Blocks of the chip.
    pub blocks: u64,
    /// Popularity stored on it, in 1/65536 of a read, as `ftl.replication.score_popularity` counts a copy's.
    pub popularity: u64,
    /// Operations waiting and in service (QL - 1); 0 at a period's end, when the mirror serves the host.
    pub load: u32,
    /// Copies that it has received: at the end of a period in this pass, on-line so far.
    pub received: u64,
}

impl ChipView {
    /// The numbers as policies from outside see them, in the order of the fields.
    pub(super) fn columns(&self) -> [i64; 7] {
        let Self { free_pages, stored_pages, erases, blocks, popularity, load, received } = *self;
        [free_pages, stored_pages, erases, blocks, popularity, u64::from(load), received]
            .map(|count| i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// A set of chips (at most 256).
#[derive(Debug, Clone, Copy, Default)]
pub struct ChipSet([u64; 4]);

impl ChipSet {
    /// Adds a chip.
    pub fn insert(&mut self, chip: Chip) {
        self.0[chip.index() >> 6] |= 1 << (chip.number() & 63);
    }

    /// Whether the chip is in the set.
    pub fn contains(&self, chip: Chip) -> bool {
        self.0[chip.index() >> 6] >> (chip.number() & 63) & 1 == 1
    }
}

/// Chooses the chip of a content's next copy.
pub trait Placement: Send + dyn_clone::DynClone + flashtwin_bits::State {
    /// A chip not in `holds` with free pages, `None` if there is none. `home` is the chip of the first copy.
    fn choose(&mut self, home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip>;
}

dyn_clone::clone_trait_object!(Placement);

policies! {
    /// The popularity of a chip in the score, Pop.
    ///
    /// The RR-SSD paper (II.D) names the parameters "Available Space, S, Mean Erase Count, E, and Mean Popularity
    /// Count, Pop", and says what Pop is for: "in order not to swamp a flash chip with majority of popular values being
    /// stored on it".
    pub enum ScorePopularity;

    /// The mean counter of the contents on the chip (RR-SSD paper II.D: "Mean Popularity Count"):
    /// the sum over all contents with a copy there, plus one read, over the pages there, plus one.
    /// A chip with copies of hot contents has a larger mean than one with as many copies of
    /// lukewarm contents.
    #[default]
    Mean;
    /// The reads that the chip may expect: the sum of the contents' counters, each divided by the
    /// number of its copies, plus one read. If copies are proportional to reads, this is nearly the
    /// number of copies of popular contents.
    Sum;
    /// `mean` without first copies: the counters of all contents with a replica there, plus one
    /// read, over the pages there, plus one.
    Replicas;
}

impl ScorePopularity {
    /// What a copy adds to its chip's popularity, in 1/65536 of a read. The copy `at` 0 is the first.
    #[inline]
    pub(super) fn of_copy(self, popularity: u8, copies: usize, at: usize) -> u64 {
        let counter = u64::from(popularity) << 16;
        match self {
            Self::Mean => counter,
            Self::Sum => counter / copies as u64,
            Self::Replicas => counter * u64::from(at > 0),
        }
    }

    #[inline]
    pub(super) fn is_mean(self) -> bool {
        self != Self::Sum
    }
}

policies! {
    /// Choice among chips with equal scores. The RR-SSD paper leaves it open.
    pub enum ScoreTies;

    /// The first chip.
    #[default]
    First;
    /// The first chip after the one that received the last copy.
    InTurn;
}

policies! {
    /// Order of contents with equal counters. The RR-SSD paper (III.B) orders by counters alone.
    pub enum Equals;

    /// By VPN, the order of first writes: neighbours follow each other.
    #[default]
    ByNumber;
    /// By a hash of the VPN: neighbours do not follow each other.
    Shuffled;
}

impl Equals {
    pub(crate) fn key(self, vpn: Vpn) -> u64 {
        match self {
            Self::ByNumber => u64::from(vpn.number()),
            Self::Shuffled => Rng::stream(u64::from(vpn.number()), "equals").next_u64(),
        }
    }
}

policies! {
    /// Choice of the chip for a copy.
    pub enum PlacementPolicy;
    pub fn build(
        popularity: ScorePopularity, ties: ScoreTies, rng: Rng, chips: u32, foreign: &Foreign,
    ) -> Box<dyn Placement>;
    @ name ["weighs-popularity"] => Box::new(foreign::ForeignPlacement { rule: foreign.rule("placement", name, &[chips as usize; 8]) });

    /// The largest S / (E x Pop): free pages, mean erase count, popularity already stored
    /// (RR-SSD paper II.D); on-line S / (E x Pop x QL), with the chip's load (IV.B.4).
    #[default]
    #[schemars(extend("x-traits" = ["breaks-ties", "weighs-popularity"]))]
    Score => Box::new(score::Score::new(popularity, ties, false));
    /// The largest score among the chips that have received the fewest copies: no chip gets many in
    /// a row. Not in the papers; it separates the effect of the score's choice from that of piling
    /// up.
    #[schemars(extend("x-traits" = ["breaks-ties", "weighs-popularity"]))]
    EvenScore => Box::new(score::Score::new(popularity, ties, true));
    /// A random chip.
    Random => Box::new(random::Random { rng });
    /// The chips that follow the home chip: (i + 1) % N, (i + 2) % N, ... (RR-SSD paper IV.B.3, "Static").
    Static => Box::new(successors::Successors);
}

pub(super) fn may_hold(chip: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> bool {
    chips[chip].free_pages > 0 && !holds.contains(chip)
}

flashtwin_bits::state!(value ChipView { free_pages, stored_pages, erases, blocks, popularity, load, received });

#[cfg(test)]
mod tests {
    use super::*;

    fn chips() -> Vec<ChipView> {
        let chip = ChipView {
            free_pages: 100,
            stored_pages: 900,
            erases: 0,
            blocks: 10,
            popularity: 5 << 16,
            load: 0,
            received: 0,
        };
        vec![chip; 6]
    }

    fn held(list: &[u32]) -> ChipSet {
        let mut set = ChipSet::default();
        list.iter().for_each(|&chip| set.insert(Chip::new(chip)));
        set
    }

    fn choose(policy: PlacementPolicy, chips: &[ChipView], holds: &[u32]) -> Option<u32> {
        let [mean, sum, replicas] = by_each_popularity(policy, chips, holds);
        assert_eq!([mean, mean], [sum, replicas], "chips that store as much as the others");
        mean
    }

    fn by_each_popularity(policy: PlacementPolicy, chips: &[ChipView], holds: &[u32]) -> [Option<u32>; 3] {
        ScorePopularity::ALL.map(|popularity| {
            let mut placement =
                policy.build(popularity, ScoreTies::First, Rng::stream(1, "test"), 6, &Foreign::default());
            placement.choose(Chip::new(2), By::new(chips), &held(holds)).map(Chip::number)
        })
    }

    #[test]
    fn score_prefers_space_then_low_wear_then_low_popularity() {
        let mut more_space = chips();
        more_space[4].free_pages = 101;
        assert_eq!(choose(PlacementPolicy::Score, &more_space, &[2]), Some(4));
        let mut less_worn = chips();
        less_worn.iter_mut().enumerate().for_each(|(i, chip)| chip.erases = if i == 3 { 1 } else { 9 });
        assert_eq!(choose(PlacementPolicy::Score, &less_worn, &[2]), Some(3));
        let mut less_popular = chips();
        less_popular[5].popularity = 1 << 16;
        assert_eq!(choose(PlacementPolicy::Score, &less_popular, &[2]), Some(5));
        assert_eq!(choose(PlacementPolicy::Score, &less_popular, &[2, 5]), Some(0));
        let mut busy = chips();
        busy.iter_mut().enumerate().for_each(|(i, chip)| chip.load = if i == 1 { 2 } else { 3 });
        assert_eq!(choose(PlacementPolicy::Score, &busy, &[2]), Some(1));
    }

    #[test]
    fn only_mean_popularity_divides_by_the_pages_stored() {
        // Chip 4 has stored twice as much, and three halves of the popularity.
        let mut chips = chips();
        (chips[4].stored_pages, chips[4].popularity) = (1_801, 8 << 16);
        let chosen = by_each_popularity(PlacementPolicy::Score, &chips, &[2]);
        assert_eq!(chosen, [Some(4), Some(0), Some(4)]);
    }

    #[test]
    fn sum_weighs_hot_and_lukewarm_copies_alike() {
        // One copy more than reads: 60 reads and 1 read.
        let hot_to_lukewarm =
            |popularity: ScorePopularity| popularity.of_copy(60, 61, 1) / popularity.of_copy(1, 2, 1).max(1);
        assert_eq!(ScorePopularity::ALL.map(hot_to_lukewarm), [60, 1, 60]);
        assert_eq!(ScorePopularity::Replicas.of_copy(60, 61, 0), 0, "a first copy");
    }

    #[test]
    fn chips_with_equal_scores_take_turns_only_where_they_are_to() {
        for (ties, expected) in [(ScoreTies::First, [0, 0, 0]), (ScoreTies::InTurn, [0, 1, 3])] {
            let rng = Rng::stream(1, "test");
            let mut placement =
                PlacementPolicy::Score.build(ScorePopularity::Mean, ties, rng, 6, &Foreign::default());
            let chips = chips();
            let chosen = [(); 3].map(|()| placement.choose(Chip::new(2), By::new(&chips), &held(&[2])));
            assert_eq!(chosen.map(|chip| chip.unwrap().number()), expected);
        }
    }

    #[test]
    fn the_even_score_passes_over_chips_that_have_more_copies() {
        let mut chips = chips();
        chips[4].free_pages = 200;
        assert_eq!(choose(PlacementPolicy::EvenScore, &chips, &[2]), Some(4));
        chips[4].received = 1;
        assert_eq!(choose(PlacementPolicy::Score, &chips, &[2]), Some(4));
        assert_eq!(choose(PlacementPolicy::EvenScore, &chips, &[2]), Some(0));
        chips.iter_mut().for_each(|chip| chip.received = 1);
        assert_eq!(choose(PlacementPolicy::EvenScore, &chips, &[2]), Some(4));
    }

    #[test]
    fn shuffled_equals_are_not_in_the_order_of_their_numbers() {
        let mut numbers: Vec<u32> = (0..100).collect();
        numbers.sort_by_key(|&number| Equals::ByNumber.key(Vpn::new(number)));
        assert!(numbers.is_sorted());
        numbers.sort_by_key(|&number| Equals::Shuffled.key(Vpn::new(number)));
        let neighbours = numbers.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
        assert!(neighbours < 5, "{neighbours}");
    }

    #[test]
    fn scores_that_differ_by_2_to_the_minus_100_are_distinguished() {
        let mut chips = vec![
            ChipView {
                free_pages: u64::from(u32::MAX),
                stored_pages: u64::from(u32::MAX) - 1,
                erases: 1 << 44,
                blocks: 0,
                popularity: (1 << 50) - (1 << 16),
                load: (1 << 16) - 1,
                received: 0,
            };
            6
        ];
        chips[3].popularity -= 1;
        assert_eq!(choose(PlacementPolicy::Score, &chips, &[2]), Some(3));
        chips[5].erases -= 1;
        assert_eq!(choose(PlacementPolicy::Score, &chips, &[2]), Some(5), "2^-44 is more than 2^-50");
    }

    #[test]
    fn static_takes_the_successors_of_the_home_chip_and_wraps() {
        assert_eq!(choose(PlacementPolicy::Static, &chips(), &[2]), Some(3));
        assert_eq!(choose(PlacementPolicy::Static, &chips(), &[2, 3, 4, 5]), Some(0));
    }

    #[test]
    fn no_policy_uses_a_chip_twice_or_a_full_one() {
        let mut some_full = chips();
        some_full[3].free_pages = 0;
        for policy in PlacementPolicy::ALL {
            let mut holds = vec![2];
            while let Some(chip) = choose(policy, &some_full, &holds) {
                assert!(chip != 3 && !holds.contains(&chip));
                holds.push(chip);
            }
            assert_eq!(holds.len(), 5, "{policy:?}");
        }
    }

    #[test]
    fn random_placement_is_uniform() {
        let mut placement = PlacementPolicy::Random.build(
            ScorePopularity::Mean,
            ScoreTies::First,
            Rng::stream(3, "test"),
            6,
            &Foreign::default(),
        );
        let (chips, mut seen) = (chips(), [0u32; 6]);
        for _ in 0..50_000 {
            seen[placement.choose(Chip::new(2), By::new(&chips), &held(&[2])).unwrap().index()] += 1;
        }
        assert_eq!(seen[2], 0);
        assert!(seen.iter().enumerate().all(|(i, &n)| i == 2 || (9_500..10_500).contains(&n)), "{seen:?}");
    }
}
