//! Which chip receives a copy. One policy a file; one row registers its name.

mod random;
mod score;
mod successors;

use crate::policies::policies;
use flashtwin_bits::By;
use flashtwin_nand::Chip;

use crate::rng::Rng;

/// One chip as a placement sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChipView {
    /// Pages that hold nothing valid and may be used (S).
    pub free_pages: u64,
    /// Pages that hold valid data.
    pub stored_pages: u64,
    /// Erases of its blocks so far, and how many blocks it has (E is their ratio).
    pub erases: u64,
    /// Blocks of the chip.
    pub blocks: u64,
    /// Popularity stored on it, in 1/65536 of a read, as `ftl.replication.score_popularity` counts a copy's.
    pub popularity: u64,
    /// What waits at it and is in service (QL - 1); 0 at the end of a period, when the host is served
    /// elsewhere.
    pub load: u32,
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
pub trait Placement: Send + flashtwin_bits::State {
    /// A chip that is not in `holds` and has free pages; `None` when there is none.
    /// `home` is the chip of the first copy.
    fn choose(&mut self, home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip>;
}

policies! {
    /// The popularity of a chip in the score, Pop.
    ///
    /// The RR-SSD paper (II.D) names the parameters "Available Space, S, Mean Erase Count, E, and Mean Popularity
    /// Count, Pop", and says what Pop is for: "in order not to swamp a flash chip with majority of popular values being
    /// stored on it".
    pub enum ScorePopularity;

    /// The mean counter of the contents stored on the chip (RR-SSD paper II.D: "Mean Popularity Count"): the
    /// counters of all contents with a copy there, plus one read, over the pages stored there, plus one. A chip
    /// with copies of hot contents has a larger one than a chip with as many copies of lukewarm contents.
    #[default]
    Mean;
    /// The reads that the chip may expect: each content's counter shared equally over its copies, summed, plus
    /// one read. Where copies are in proportion to reads a copy's share is nearly one read, so that this is
    /// nearly the number of copies of popular contents.
    Sum;
}

impl ScorePopularity {
    /// What one of `copies` copies of a content adds to its chip's popularity, in 1/65536 of a read.
    #[inline]
    pub(super) fn of_copy(self, popularity: u8, copies: usize) -> u64 {
        let counter = u64::from(popularity) << 16;
        match self {
            Self::Mean => counter,
            Self::Sum => counter / copies as u64,
        }
    }
}

policies! {
    /// Which chip receives a copy.
    pub enum PlacementPolicy;
    pub fn build(popularity: ScorePopularity, rng: Rng) -> Box<dyn Placement>;

    /// The largest S / (E x Pop): free pages, mean erase count, popularity already stored
    /// (RR-SSD paper II.D); on-line S / (E x Pop x QL), with the chip's load (IV.B.4).
    #[default]
    Score => Box::new(score::Score { popularity });
    /// Any, each equally likely.
    Random => Box::new(random::Random { rng });
    /// The chips that follow the home chip: (i + 1) % N, (i + 2) % N, ... (RR-SSD paper IV.B.3, "Static").
    Static => Box::new(successors::Successors);
}

fn open(chip: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> bool {
    chips[chip].free_pages > 0 && !holds.contains(chip)
}

flashtwin_bits::state!(value ChipView { free_pages, stored_pages, erases, blocks, popularity, load });

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
        };
        vec![chip; 6]
    }

    fn held(list: &[u32]) -> ChipSet {
        let mut set = ChipSet::default();
        list.iter().for_each(|&chip| set.insert(Chip::new(chip)));
        set
    }

    fn choose(policy: PlacementPolicy, chips: &[ChipView], holds: &[u32]) -> Option<u32> {
        let chips = By::new(chips);
        let choose = |popularity| {
            policy.build(popularity, Rng::stream(1, "test")).choose(Chip::new(2), chips, &held(holds))
        };
        let [mean, sum] = ScorePopularity::ALL.map(choose);
        assert_eq!(mean, sum, "chips that store as much as the others");
        mean.map(Chip::number)
    }

    #[test]
    fn the_score_prefers_space_then_little_wear_then_little_popularity() {
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
    fn the_mean_popularity_is_over_the_pages_stored_and_the_sum_is_not() {
        // Chip 4 has stored twice as much, and three halves of the popularity.
        let mut chips = chips();
        (chips[4].stored_pages, chips[4].popularity) = (1_801, 8 << 16);
        let choose = |popularity| {
            let mut placement = PlacementPolicy::Score.build(popularity, Rng::stream(1, "test"));
            placement.choose(Chip::new(2), By::new(&chips), &held(&[2])).map(Chip::number)
        };
        assert_eq!(ScorePopularity::ALL.map(choose), [Some(4), Some(0)]);
    }

    #[test]
    fn a_copy_of_a_hot_content_weighs_as_much_as_one_of_a_lukewarm_one_in_the_sum_alone() {
        // One copy more than reads: 60 reads and 1 read.
        let hot_to_lukewarm =
            |popularity: ScorePopularity| popularity.of_copy(60, 61) / popularity.of_copy(1, 2).max(1);
        assert_eq!(ScorePopularity::ALL.map(hot_to_lukewarm), [60, 1]);
    }

    #[test]
    fn scores_that_differ_by_one_part_in_two_to_the_hundredth_are_told_apart() {
        let mut chips = vec![
            ChipView {
                free_pages: u64::from(u32::MAX),
                stored_pages: u64::from(u32::MAX) - 1,
                erases: 1 << 44,
                blocks: 0,
                popularity: (1 << 50) - (1 << 16),
                load: (1 << 16) - 1,
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
        let mut placement = PlacementPolicy::Random.build(ScorePopularity::Mean, Rng::stream(3, "test"));
        let (chips, mut seen) = (chips(), [0u32; 6]);
        for _ in 0..50_000 {
            seen[placement.choose(Chip::new(2), By::new(&chips), &held(&[2])).unwrap().index()] += 1;
        }
        assert_eq!(seen[2], 0);
        assert!(seen.iter().enumerate().all(|(i, &n)| i == 2 || (9_500..10_500).contains(&n)), "{seen:?}");
    }
}
