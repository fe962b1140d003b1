//! Partitions known before the first write: the driver has counted each page's updates (SWC paper, 3.1 and 3.2), or the
//! host names them.

use super::PartitionAssignment;
use crate::ids::Lpn;

/// Bytes of a list with the partition of each page: as many bits a page as name one.
pub(super) fn named_bytes(coldest: u8, pages: usize) -> u64 {
    (pages as u64 * u64::from(u8::BITS - coldest.leading_zeros())).div_ceil(8)
}

pub(super) struct Told {
    of_page: Vec<u8>,
    coldest: u8,
    /// Whether the controller keeps the list, in its RAM.
    keeps: bool,
}

impl Told {
    pub(super) fn beforehand(partitions: u32) -> Self {
        Self { of_page: Vec::new(), coldest: partitions.saturating_sub(1) as u8, keeps: true }
    }

    /// The host sends the partition with each write, so that the controller keeps no list.
    pub(super) fn with_each_write(partitions: u32) -> Self {
        Self { keeps: false, ..Self::beforehand(partitions) }
    }
}

impl PartitionAssignment for Told {
    fn tell(&mut self, of_page: Vec<u8>) {
        self.of_page = of_page;
    }

    #[inline]
    fn written(&mut self, lpn: Lpn) -> u8 {
        self.partition(lpn)
    }

    #[inline]
    fn partition(&self, lpn: Lpn) -> u8 {
        self.of_page.get(lpn.index()).map_or(self.coldest, |&partition| partition.min(self.coldest))
    }

    fn forget(&mut self) {}

    fn ram_bytes(&self) -> u64 {
        if self.keeps { named_bytes(self.coldest, self.of_page.len()) } else { 0 }
    }

    fn bytes(&self) -> u64 {
        self.of_page.len() as u64
    }
}

flashtwin_bits::state!(Told {} kept { of_page, coldest, keeps });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_where_the_list_says_and_the_others_to_the_coldest() {
        let beforehand = |partitions, of_page| {
            let mut told = Told::beforehand(partitions);
            told.tell(of_page);
            told
        };
        let mut told = beforehand(3, vec![0, 2, 1, 9]);
        let partitions: Vec<u8> = (0..6).map(|lpn| told.written(Lpn::new(lpn))).collect();
        assert_eq!(partitions, [0, 2, 1, 2, 2, 2]);
        assert_eq!((told.ram_bytes(), told.bytes()), (1, 4));
        assert_eq!(beforehand(1, vec![0; 100]).ram_bytes(), 0, "nothing to name");
        assert_eq!(beforehand(2, vec![0; 100]).ram_bytes(), 13);
    }
}
