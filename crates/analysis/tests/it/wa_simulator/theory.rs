//! Write amplification against published models.

use flashtwin_analysis::{WaDevice, WaSimulator};

use crate::common::Random;

/// Greedy collection under uniform writes: the fixed point of the mean field for blocks of finite size (W. Bux and I.
/// Iliadis, Performance Evaluation 2010; P. Desnoyers, ACM TOS 2014; B. Van Houdt, SIGMETRICS 2013).
///
/// With g victims for each page written and y(i) blocks of i valid pages, every level above the victims' passes on all
/// that it receives in the steady state: i y(i) / U = g. Victims have m pages, which are taken at once, or m + 1. The
/// share of the first makes the blocks add up to `ratio` x U pages.
fn greedy_model(ratio: f64, block_pages: u32) -> f64 {
    let wanted = ratio / f64::from(block_pages);
    let mut sum = 0.0;
    for level in (1..=block_pages).rev() {
        let above = f64::from(block_pages - level);
        let share = 1.0 / f64::from(level);
        if (sum + share) / (above + 1.0) >= wanted {
            let below = (wanted * above - sum) / (share - wanted);
            return f64::from(block_pages) / (above + below);
        }
        sum += share;
    }
    f64::INFINITY
}

/// FIFO collection (Desnoyers' closed form without the Lambert function): a page is still valid at the end of the queue
/// with probability e^(-ratio / A), which is 1 - 1 / A.
fn fifo_model(ratio: f64) -> f64 {
    let (mut low, mut high) = (1.0 + 1e-9, 1e6);
    for _ in 0..200 {
        let middle: f64 = (low + high) / 2.0;
        let too_low = 1.0 - 1.0 / middle < f64::exp(-ratio / middle);
        *(if too_low { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Blocks that hold no data in the mean: the standby block, and half of each active one.
fn ratio(device: WaDevice, pages: u32) -> f64 {
    let idle = 1.0 + f64::from(device.partitions) / 2.0;
    (device.physical_blocks as f64 - idle) * f64::from(device.block_pages) / f64::from(pages)
}

/// Write amplification in the steady state: `next` draws pages.
fn measured(device: WaDevice, of_page: &[u8], mut next: impl FnMut() -> u32) -> f64 {
    let mut ssd = WaSimulator::new(device, of_page).unwrap();
    let pages = of_page.len() as u32;
    (0..pages).for_each(|page| ssd.write(page).unwrap());
    (0..10 * pages).for_each(|_| ssd.write(next()).unwrap());
    let before = ssd.counts();
    (0..10 * pages).for_each(|_| ssd.write(next()).unwrap());
    let after = ssd.counts();
    (after.pages_programmed - before.pages_programmed) as f64
        / (after.page_writes - before.page_writes) as f64
}

#[test]
fn the_models_give_the_published_numbers() {
    // P. Desnoyers, ACM TOS 2014, at a spare factor of 0.22, and his ftlsim's own run.
    assert!((fifo_model(1.0 / 0.78) - 2.469).abs() < 0.001, "{}", fifo_model(1.0 / 0.78));
    assert!((greedy_model(1.0 / 0.78, 64) - 2.390).abs() < 0.001, "{}", greedy_model(1.0 / 0.78, 64));
}

#[test]
fn one_partition_and_uniform_writes_are_the_mean_field() {
    let mut random = Random::new(7);
    for (block_pages, spare) in [(64, 0.22), (128, 0.22), (128, 0.0654), (128, 0.1), (256, 0.4), (100, 0.15)]
    {
        let device = WaDevice { block_pages, physical_blocks: 2000, partitions: 1 };
        let pages = (2000.0 * f64::from(block_pages) * (1.0 - spare)) as u32;
        let found = measured(device, &vec![0; pages as usize], || random.below(pages.into()) as u32);
        let model = greedy_model(ratio(device, pages), block_pages);
        assert!((found / model - 1.0).abs() < 0.03, "{block_pages} pages, spare {spare}: {found}, {model}");
        if (block_pages, spare) == (64, 0.22) {
            assert!((found - 2.390).abs() < 0.02 && found < 2.469, "{found}");
        }
    }
}

/// Hot and cold pages, each written uniformly. Separated, both come to the write amplification of uniform writes (SWC
/// 3.2).
#[test]
fn two_partitions_for_two_temperatures() {
    let (block_pages, physical_blocks) = (128, 1000);
    for (hot_pages, hot_writes, spare) in [(0.2, 0.8, 0.1), (0.1, 0.9, 0.2), (0.05, 0.5, 0.0654)] {
        let pages = (f64::from(block_pages) * physical_blocks as f64 * (1.0 - spare)) as u32;
        let hot = (f64::from(pages) * hot_pages) as u32;
        let mut random = Random::new(8);
        let mut next = || {
            let of_hot = (random.below(1 << 32) as f64) < hot_writes * (1u64 << 32) as f64;
            let (first, count) = if of_hot { (0, hot) } else { (hot, pages - hot) };
            first + random.below(count.into()) as u32
        };
        let one = WaDevice { block_pages, physical_blocks, partitions: 1 };
        let two = WaDevice { partitions: 2, ..one };
        let mixed = measured(one, &vec![0; pages as usize], &mut next);
        let of_page: Vec<u8> = (0..pages).map(|page| u8::from(page >= hot)).collect();
        let separated = measured(two, &of_page, &mut next);
        let ratio = ratio(two, pages);
        let uniform = greedy_model(ratio, block_pages);
        // Spare pages, as a share of the logical ones, dealt out in a thousand ways.
        let spare_pages = ratio - 1.0;
        let dealt = |to_hot: f64| {
            let hot_ratio = 1.0 + spare_pages * to_hot / hot_pages;
            let cold_ratio = 1.0 + spare_pages * (1.0 - to_hot) / (1.0 - hot_pages);
            hot_writes * greedy_model(hot_ratio, block_pages)
                + (1.0 - hot_writes) * greedy_model(cold_ratio, block_pages)
        };
        let best = (1..1000).map(|share| dealt(f64::from(share) / 1000.0)).fold(f64::INFINITY, f64::min);
        let figures = format!("mixed {mixed}, separated {separated}, uniform {uniform}, best {best}");
        // Of equals the older is the victim, mostly a cold one: hot blocks get a page further down.
        assert!((0.96..1.01).contains(&(separated / uniform)), "{figures}");
        assert!(separated > best, "{figures}");
        assert!(mixed > 1.03 * uniform, "{figures}");
    }
}
