//! How often each of a number of things occurs, chosen in advance so that total and concentration are exact.

/// Things by how often they occur: how many there are of each multiplicity, the highest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Multiplicities {
    pub(super) classes: Vec<Class>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) times: u32,
    pub(super) things: u64,
}

/// The most popular `things_share` of things have `accesses_share` of the accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Skew {
    pub(super) accesses_share: f64,
    pub(super) things_share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Impossible {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Multiplicities {
    /// `things` occur at least once each and `occurrences` times together, concentrated as `skew` says. Item `i` occurs
    /// `max(1, floor(scale * i^-exponent))` times. The concentration fixes `exponent`, the total `scale`.
    pub(super) fn new(things: u64, occurrences: u64, skew: Skew) -> Result<Multiplicities, Impossible> {
        if things == 0 || occurrences <= things {
            return Ok(Multiplicities::of_one_kind(things, 1));
        }
        let share = |exponent: f64| {
            let made = Multiplicities::zipf(things, occurrences, exponent);
            (made.share_holding(skew.accesses_share), made)
        };
        let (mut flat, mut steep) = (EXPONENTS.0, EXPONENTS.1);
        let (most, flattest) = share(flat);
        let (least, steepest) = share(steep);
        // Published numbers are rounded. Of few occurrences, any two concentrations are far apart.
        let few = occurrences < FEW;
        if skew.things_share >= most {
            return if few || skew.things_share <= most * TOLERANCE {
                Ok(flattest)
            } else {
                Err(Impossible { least, most })
            };
        }
        if skew.things_share <= least {
            return if few || skew.things_share * TOLERANCE >= least {
                Ok(steepest)
            } else {
                Err(Impossible { least, most })
            };
        }
        let mut best = (most - skew.things_share, flattest);
        for _ in 0..BISECTIONS {
            let middle = (flat + steep) / 2.0;
            let (found, made) = share(middle);
            let error = (found - skew.things_share).abs();
            if error < best.0 {
                best = (error, made);
            }
            if error <= skew.things_share * CLOSE {
                break;
            }
            if found > skew.things_share { flat = middle } else { steep = middle }
        }
        Ok(best.1)
    }

    /// `things` items that occur `occurrences` times together, with several points of their concentration. Between two
    /// points all items are equally popular. An error is the number of the first impossible point: with it items would
    /// occur less than once, or more often than those before them. A point without a whole-number solution is left out.
    pub(super) fn stepped(things: u64, occurrences: u64, points: &[Skew]) -> Result<Multiplicities, usize> {
        let in_whole: Vec<(u64, u64)> = points
            .iter()
            .map(|point| {
                let upto = (point.things_share * things as f64).round() as u64;
                (upto, (point.accesses_share * occurrences as f64).round() as u64)
            })
            .chain([(things, occurrences)])
            .collect();
        let made = Multiplicities::steps(&in_whole);
        if made.is_ok() {
            return made;
        }
        // The number of things was rounded as well, and is one at least.
        possible(occurrences as f64 / (things as f64 - 1.0).max(0.0), points)?;
        Multiplicities::steps(&falling(&in_whole))
    }

    /// Steps up to each of several points, the last of which is the whole, in things and in occurrences.
    fn steps(points: &[(u64, u64)]) -> Result<Multiplicities, usize> {
        let mut made = Multiplicities::default();
        let (mut before, mut mean) = ((0, 0), f64::INFINITY);
        let whole @ (_, occurrences) = points.last().copied().unwrap_or_default();
        for (index, &(upto_things, mut upto_accesses)) in points.iter().enumerate() {
            // Where those behind it occur once each, rounding is made up for here.
            let most = most_accesses(whole, upto_things);
            if upto_accesses > most && upto_accesses - most <= occurrences / ROUNDING + 1 {
                upto_accesses = most;
            }
            let steps = (upto_things.checked_sub(before.0), upto_accesses.checked_sub(before.1));
            let (Some(step), Some(accesses)) = steps else { return Err(index) };
            if step == 0 && (accesses == 0 || index + 1 < points.len()) {
                // Fewer than one thing: it goes with those behind it.
                continue;
            }
            let here = accesses as f64 / step as f64;
            if accesses < step || here > mean * TOLERANCE {
                return Err(index);
            }
            let (each, more) = (accesses / step, accesses % step);
            push(&mut made.classes, (each + 1) as u32, more);
            push(&mut made.classes, each as u32, step - more);
            (before, mean) = ((upto_things, upto_accesses), here);
        }
        Ok(made)
    }

    pub(super) fn of_one_kind(things: u64, times: u32) -> Multiplicities {
        let classes = if things > 0 { vec![Class { times, things }] } else { Vec::new() };
        Multiplicities { classes }
    }

    fn zipf(things: u64, occurrences: u64, exponent: f64) -> Multiplicities {
        // The total grows with the scale, from `things` at 1.
        let (mut low, mut high) = (0.0f64, libm::log(occurrences as f64));
        for _ in 0..SCALE_BISECTIONS {
            let middle = (low + high) / 2.0;
            let sizes = Law { things, exponent, scale: libm::exp(middle) };
            if sizes.total(occurrences) <= occurrences { low = middle } else { high = middle }
        }
        let mut made = Law { things, exponent, scale: libm::exp(low) }.classes(occurrences);
        made.hand_out(occurrences.saturating_sub(made.occurrences()));
        made
    }

    /// One occurrence more for each of the most popular things, until `left` is handed out.
    fn hand_out(&mut self, mut left: u64) {
        while left > 0 {
            let mut raised = Vec::with_capacity(self.classes.len() + 1);
            for class in &self.classes {
                let up = class.things.min(left);
                left -= up;
                push(&mut raised, class.times + 1, up);
                push(&mut raised, class.times, class.things - up);
            }
            self.classes = raised;
        }
    }

    pub(super) fn things(&self) -> u64 {
        self.classes.iter().map(|class| class.things).sum()
    }

    pub(super) fn occurrences(&self) -> u64 {
        self.classes.iter().map(|class| class.things * u64::from(class.times)).sum()
    }

    /// Mean occurrences of a thing that occurs more than once, each counted up to `most`, drawn by how often they
    /// occur.
    pub(super) fn mean_of_several(&self, most: u32) -> f64 {
        let several = || self.classes.iter().filter(|class| class.times > 1);
        let weight = |class: &Class| class.things as f64 * f64::from(class.times);
        let sum: f64 = several().map(|class| weight(class) * f64::from(class.times.min(most))).sum();
        sum / several().map(weight).sum::<f64>().max(1.0)
    }

    /// Smallest share of the things that has at least `accesses_share` of the occurrences.
    pub(super) fn share_holding(&self, accesses_share: f64) -> f64 {
        let mut needed = accesses_share * self.occurrences() as f64;
        let mut taken = 0.0;
        for class in &self.classes {
            let held = class.things as f64 * f64::from(class.times);
            if held >= needed {
                taken += needed / f64::from(class.times);
                break;
            }
            needed -= held;
            taken += class.things as f64;
        }
        taken / self.things() as f64
    }

    /// Deals `share` of the things of every class to `parts`, in turn, except those with more than `times_max`
    /// occurrences.
    pub(super) fn deal_out(&mut self, share: f64, parts: usize, times_max: u64) -> Vec<Multiplicities> {
        let mut dealt = vec![Multiplicities::default(); parts];
        if parts == 0 || share <= 0.0 {
            return dealt;
        }
        let (mut owed, mut turn) = (0.0, 0);
        for class in &mut self.classes {
            if u64::from(class.times) > times_max {
                continue;
            }
            owed += class.things as f64 * share;
            let taken = (owed as u64).min(class.things);
            owed -= taken as f64;
            class.things -= taken;
            let parts = parts as u64;
            for (part, to) in dealt.iter_mut().enumerate() {
                let behind = (part as u64 + parts - turn) % parts;
                let things = taken / parts + u64::from(behind < taken % parts);
                push(&mut to.classes, class.times, things);
            }
            turn = (turn + taken) % parts;
        }
        self.classes.retain(|class| class.things > 0);
        dealt
    }
}

/// Whether points could be if things came in parts. `mean` is how often a thing occurs; an error is the first bad one.
fn possible(mean: f64, points: &[Skew]) -> Result<(), usize> {
    let (mut before, mut slope) = (Skew { accesses_share: 0.0, things_share: 0.0 }, f64::INFINITY);
    let whole = Skew { accesses_share: 1.0, things_share: 1.0 };
    for (index, point) in points.iter().chain([&whole]).enumerate() {
        let things = point.things_share - before.things_share;
        let accesses = point.accesses_share - before.accesses_share;
        let here = accesses / things;
        if things <= 0.0 || here * mean * TOLERANCE < 1.0 || here > slope * TOLERANCE {
            return Err(index);
        }
        (before, slope) = (*point, here);
    }
    Ok(())
}

/// How many accesses the first `upto` of things may have: each of those behind them occurs once at least.
fn most_accesses((things, occurrences): (u64, u64), upto: u64) -> u64 {
    occurrences.saturating_sub(things.saturating_sub(upto))
}

/// The corners of the smallest concave curve above all points: popularity falls between them and is at least one.
fn falling(points: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let whole = points.last().copied().unwrap_or_default();
    let mut kept: Vec<(u64, u64)> = vec![(0, 0)];
    for &(upto, accesses) in points {
        let point = (upto, accesses.min(most_accesses(whole, upto)));
        // The last one kept lies below the line from the one before it to this one, or on it.
        while let [.., (x0, y0), (x1, y1)] = kept[..]
            && u128::from(y1 - y0) * u128::from(point.0 - x0)
                <= u128::from(point.1.saturating_sub(y0)) * u128::from(x1 - x0)
        {
            kept.pop();
        }
        if kept.last().is_none_or(|last| point.0 > last.0 && point.1 >= last.1) {
            kept.push(point);
        }
    }
    kept
}

const EXPONENTS: (f64, f64) = (0.02, 8.0);
const BISECTIONS: u32 = 40;
const SCALE_BISECTIONS: u32 = 44;
/// Relative error of a share of things at which the search ends.
const CLOSE: f64 = 1e-4;
const TOLERANCE: f64 = 1.02;
/// One in this many accesses may be moved to another step.
const ROUNDING: u64 = 500;
const FEW: u64 = 1000;
/// Multiplicities up to this are counted by multiplicity, those above thing by thing.
const BY_MULTIPLICITY: u32 = 1024;

struct Law {
    things: u64,
    exponent: f64,
    scale: f64,
}

impl Law {
    fn at_least(&self, times: f64) -> u64 {
        if self.scale < times {
            return 0;
        }
        // Casting stops at the highest number.
        (libm::pow(self.scale / times, 1.0 / self.exponent) as u64).min(self.things)
    }

    fn times(&self, rank: u64, most: u64) -> u32 {
        let times = self.scale * libm::pow(rank as f64, -self.exponent);
        (times as u64).clamp(1, most.min(u64::from(u32::MAX))) as u32
    }

    /// Occurrences of all; anything above `limit` when there are more.
    fn total(&self, limit: u64) -> u64 {
        let mut total = self.things;
        for times in 2..=BY_MULTIPLICITY {
            let things = self.at_least(f64::from(times));
            total += things;
            if things == 0 || total > limit {
                return total;
            }
        }
        for rank in 1..=self.at_least(f64::from(BY_MULTIPLICITY + 1)) {
            total += u64::from(self.times(rank, limit)) - u64::from(BY_MULTIPLICITY);
            if total > limit {
                break;
            }
        }
        total
    }

    fn classes(&self, limit: u64) -> Multiplicities {
        let mut classes = Vec::new();
        let mut above = self.at_least(f64::from(BY_MULTIPLICITY + 1));
        for rank in 1..=above {
            push(&mut classes, self.times(rank, limit), 1);
        }
        for times in (1..=BY_MULTIPLICITY).rev() {
            let reach = if times == 1 { self.things } else { self.at_least(f64::from(times)).max(above) };
            push(&mut classes, times, reach - above);
            above = reach;
        }
        Multiplicities { classes }
    }
}

fn push(classes: &mut Vec<Class>, times: u32, things: u64) {
    match classes.last_mut() {
        _ if things == 0 => {}
        Some(last) if last.times == times => last.things += things,
        _ => classes.push(Class { times, things }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(accesses: f64, things: f64) -> Skew {
        Skew { accesses_share: accesses, things_share: things }
    }

    #[test]
    fn published_concentrations_are_met_closely() {
        // Things, occurrences and the share of things with half of the accesses: mail and web of the
        // CA-SSD paper (Table 2, Fig. 2), and two more.
        for (things, occurrences, share) in [
            (217_900, 2_783_520, 0.0884),
            (1_239_327, 2_926_380, 0.2999),
            (1000, 50_000, 0.01),
            (10, 35, 0.2),
        ] {
            let made = Multiplicities::new(things, occurrences, holding(0.5, share)).unwrap();
            assert_eq!(made.things(), things);
            assert_eq!(made.occurrences(), occurrences);
            assert!(made.classes.is_sorted_by(|a, b| a.times > b.times), "{made:?}");
            let found = made.share_holding(0.5);
            let step = 1.5 / things as f64;
            assert!(
                (found - share).abs() < share * 0.005 + step,
                "{things} {occurrences}: {found} for {share}"
            );
        }
    }

    #[test]
    fn impossible_concentration_is_refused_with_the_possible_one() {
        // homes of the CA-SSD paper: 66.37 % of writes are unique, so 14.44 % of values cannot have half.
        let Err(impossible) = Multiplicities::new(663_700, 1_000_000, holding(0.5, 0.1444)) else {
            panic!("was made");
        };
        // The rest of the values occur at least once: (1 - share) * 0.6637 <= 0.5.
        let bound = 1.0 - 0.5 / 0.6637;
        assert!((impossible.least - bound).abs() < 1e-3, "{impossible:?} {bound}");
        let possible = Multiplicities::new(663_700, 1_000_000, holding(0.5, bound * 1.01)).unwrap();
        assert!((possible.share_holding(0.5) / bound - 1.01).abs() < 0.005);
    }

    #[test]
    fn dealing_out_keeps_every_thing_and_the_shape() {
        let whole = Multiplicities::new(10_000, 60_000, holding(0.5, 0.1)).unwrap();
        let mut rest = whole.clone();
        let days = rest.deal_out(0.6, 7, 1000);
        let dealt: u64 = days.iter().map(Multiplicities::things).sum();
        assert_eq!(rest.things() + dealt, whole.things());
        assert_eq!(
            rest.occurrences() + days.iter().map(Multiplicities::occurrences).sum::<u64>(),
            whole.occurrences()
        );
        for day in &days {
            assert!((day.things() as f64 / dealt as f64 * 7.0 - 1.0).abs() < 0.01, "{}", day.things());
            assert!(day.classes.iter().all(|class| class.times <= 1000));
        }
    }

    #[test]
    fn several_points_are_all_met() {
        let point = |accesses, things| holding(accesses, things);
        let points = [point(0.2, 0.01), point(0.5, 0.1), point(0.8, 0.4)];
        let made = Multiplicities::stepped(10_000, 50_000, &points).unwrap();
        assert_eq!((made.things(), made.occurrences()), (10_000, 50_000));
        for point in points {
            assert!((made.share_holding(point.accesses_share) - point.things_share).abs() < 1e-9);
        }
        // Where the rest occurs once each, shares that were rounded still leave enough for it.
        let rest = Multiplicities::stepped(1_000, 1_400, &[point(0.357_5, 0.1)]).unwrap();
        assert_eq!((rest.things(), rest.occurrences()), (1_000, 1_400));
        // The last tenth of the accesses cannot be spread over more things than it has accesses.
        assert_eq!(Multiplicities::stepped(10_000, 12_000, &[point(0.9, 0.8)]), Err(1));
        // Nor can those behind be more popular.
        assert_eq!(Multiplicities::stepped(10_000, 90_000, &[point(0.2, 0.3), point(0.9, 0.4)]), Err(1));
    }

    #[test]
    fn points_that_cannot_be_in_whole_things_are_left_out() {
        let point = |accesses, things| holding(accesses, things);
        // Seven things for twelve occurrences: the second of the points has one thing occur less often than the next.
        let points = [point(0.3, 0.2), point(0.52, 0.4), point(0.74, 0.6)];
        let made = Multiplicities::stepped(7, 12, &points).unwrap();
        assert_eq!((made.things(), made.occurrences()), (7, 12));
        let mut random = crate::random::Random::new(1, 1);
        for _ in 0..20_000 {
            // Concentrations measured on a few items are possible, but for rounding, with more or fewer items.
            let mut times: Vec<u64> =
                (0..=random.below(40)).map(|_| 1 + random.below(6) * random.below(9)).collect();
            times.sort_unstable_by(|a, b| b.cmp(a));
            let total: u64 = times.iter().sum();
            let (mut held, mut points) = (0, Vec::new());
            for (index, more) in times[..times.len() - 1].iter().enumerate() {
                held += more;
                if random.below(3) == 0 {
                    let things = (index + 1) as f64 / times.len() as f64;
                    points.push(point(held as f64 / total as f64, things));
                }
            }
            let occurrences = 1 + random.below(200);
            let mean = total as f64 / times.len() as f64;
            let things = ((occurrences as f64 / mean).round() as u64).clamp(1, occurrences);
            let made = Multiplicities::stepped(things, occurrences, &points)
                .unwrap_or_else(|index| panic!("{times:?} {things} {occurrences}: {:?}", points.get(index)));
            assert_eq!((made.things(), made.occurrences()), (things, occurrences));
            assert!(made.classes.iter().all(|class| class.times > 0));
        }
    }

    #[test]
    fn nothing_and_single_occurrences() {
        assert_eq!(Multiplicities::new(0, 0, holding(0.5, 0.1)).unwrap().things(), 0);
        let singles = Multiplicities::new(7, 7, holding(0.5, 0.1)).unwrap();
        assert_eq!(singles.classes, [Class { times: 1, things: 7 }]);
    }
}
