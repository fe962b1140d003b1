//! The table against a map, and its order.

use super::*;

#[test]
fn agrees_with_a_map_over_volumes_and_far_addresses() {
    let mut table = PageTable::default();
    let mut map = HashMap::new();
    let mut state = 1u64;
    for _ in 0..200_000 {
        state = mix(state.wrapping_add(flashtwin_bits::STEP));
        let (volume, near) = ((state % 3) as u32, state >> 8 & 0x3fff);
        let page = near + [0, 1 << 30, 1 << 51][(state >> 40) as usize % 3];
        let next = map.len() as u32;
        let expected = *map.entry((volume, page)).or_insert(next);
        if state >> 60 == 0 {
            assert_eq!(table.page(volume, page, true).map(|page| page.id), Some(expected));
        } else {
            table.each(volume, page..page + 1, |page| {
                assert_eq!(page, Some(NumberedPage { id: expected, new: expected == next }));
            });
        }
    }
    assert_eq!(table.len() as usize, map.len());
    assert_eq!(table.page(9, 9, false), None);
    // By address: volume 2 lies before volume 0, volume 1 behind both.
    let base = [1 << 60, 1 << 61, 0];
    let mut addresses: Vec<u64> = map.keys().map(|&(volume, page)| base[volume as usize] + page).collect();
    addresses.sort_unstable();
    let (renumbered, found) = table.number_by_address(&base);
    assert_eq!(found, addresses);
    let (mut last, mut ids) = (LastRegion::default(), Vec::new());
    for (&(volume, page), &old) in &map {
        ids.clear();
        assert!(table.look_up(&mut last, volume, page..page + 1, &mut ids));
        assert_eq!(ids, [renumbered[old as usize]]);
        assert_eq!(addresses[ids[0] as usize], base[volume as usize] + page);
    }
    for (volume, pages) in [(7, 0..1), (0, 1 << 40..(1 << 40) + 9), (0, 0x3fff..0x4001)] {
        assert!(!table.look_up(&mut last, volume, pages, &mut ids), "pages that never were");
    }
}

#[test]
fn counts_pages_that_are_not_taken() {
    let mut table = PageTable::default();
    for (volume, pages) in [(0, 3..40), (1, 0..7), (0, (1 << 40)..(1 << 40) + 5)] {
        table.each(volume, pages, |_| {});
    }
    assert_eq!(table.count_unless(|_, _| false), 37 + 7 + 5);
    assert_eq!(table.count_unless(|volume, page| volume == 0 && page < 10), 30 + 7 + 5);
    assert_eq!(table.count_unless(|volume, page| volume == 0 && page >= 1 << 40), 37 + 7);
}
