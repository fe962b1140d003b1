//! Volumes: from the numbers and names of a file to dense numbers.

use hashbrown::HashMap;

/// Volumes as a file numbers them, on their way to dense numbers.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    found: HashMap<u64, u32>,
    keys: Vec<(u64, String)>,
    last: Option<(u64, u32)>,
}

impl Volumes {
    /// Index of the volume with this key, in order of appearance; made by `name` when new.
    #[inline]
    pub(crate) fn index(&mut self, key: u64, name: impl FnOnce(u64) -> String) -> u32 {
        match self.last {
            Some((last, index)) if last == key => index,
            _ => self.look_up(key, name),
        }
    }

    fn look_up(&mut self, key: u64, name: impl FnOnce(u64) -> String) -> u32 {
        let index = *self.found.entry(key).or_insert_with(|| {
            self.keys.push((key, name(key)));
            (self.keys.len() - 1) as u32
        });
        self.last = Some((key, index));
        index
    }

    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        self.found.get(&key).copied()
    }

    pub(crate) fn len(&self) -> u32 {
        self.keys.len() as u32
    }

    pub(crate) fn name(&self, index: u32) -> Option<&String> {
        self.keys.get(index as usize).map(|(_, name)| name)
    }

    /// For each index the dense number (ascending with the key), and the names in that order.
    pub(crate) fn into_dense(self) -> (Vec<u32>, Vec<String>) {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.sort_by_key(|&index| self.keys[index as usize].0);
        let mut dense = vec![0; order.len()];
        for (number, &index) in order.iter().enumerate() {
            dense[index as usize] = number as u32;
        }
        let names = order.iter().map(|&index| self.keys[index as usize].1.clone()).collect();
        (dense, names)
    }
}

const NONE: u32 = u32::MAX;

/// Numbers things in order of first appearance: small ones in a table, far-off ones (of other tools) in a map.
#[derive(Debug, Clone, Default)]
pub(crate) struct Appearance {
    table: Vec<u32>,
    far: HashMap<u32, u32>,
    count: u32,
}

/// The table may be this much longer than there are numbers.
const TABLE_SLACK: usize = 1 << 16;

impl Appearance {
    /// The number of `old`, and whether it is new.
    #[inline]
    pub(crate) fn number(&mut self, old: u32) -> (u32, bool) {
        match self.table.get(old as usize) {
            Some(&number) if number != NONE => (number, false),
            _ => self.look_up(old),
        }
    }

    fn look_up(&mut self, old: u32) -> (u32, bool) {
        if let Some(&number) = self.far.get(&old) {
            return (number, false);
        }
        let number = self.count;
        self.count += 1;
        let place = old as usize;
        if place < self.table.len().max(2 * number as usize + TABLE_SLACK) {
            if place >= self.table.len() {
                self.table.resize(place + 1, NONE);
            }
            self.table[place] = number;
        } else {
            self.far.insert(old, number);
        }
        (number, true)
    }

    pub(crate) fn get(&self, old: u32) -> Option<u32> {
        let near = self.table.get(old as usize).copied().filter(|&number| number != NONE);
        near.or_else(|| self.far.get(&old).copied())
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_first_appearance_near_and_far() {
        let mut appearance = Appearance::default();
        let mut reference: HashMap<u32, u32> = HashMap::new();
        for step in 0u32..200_000 {
            // Near ones, far ones, and some that are far when they come and near later on.
            let old = match step % 3 {
                0 => step.wrapping_mul(step) % 5003,
                1 => 0xffff_ff00 - step % 4001,
                _ => step % 90_000,
            };
            let next = reference.len() as u32;
            let fresh = !reference.contains_key(&old);
            let expected = *reference.entry(old).or_insert(next);
            assert_eq!(appearance.get(old), (!fresh).then_some(expected));
            assert_eq!(appearance.number(old), (expected, fresh));
            assert_eq!(appearance.get(old), Some(expected));
        }
        assert_eq!(appearance.count() as usize, reference.len());
    }
}
