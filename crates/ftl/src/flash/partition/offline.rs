//! Partitions known before the first write: the driver has counted each page's updates (SWC paper, 3.1 and 3.2).

use super::PartitionAssignment;
use crate::ids::Lpn;

pub(super) struct Offline {
    of_page: Vec<u8>,
    coldest: u8,
    /// Whether the controller keeps the list, in its RAM.
    keeps: bool,
}

impl Offline {
    pub(super) fn new(partitions: u32, of_page: Vec<u8>) -> Self {
        Self { of_page, coldest: partitions.saturating_sub(1) as u8, keeps: true }
    }
}

impl Offline {
    pub(super) fn told_by_host(self) -> Self {
        Self { keeps: false, ..self }
    }
}

impl PartitionAssignment for Offline {
    #[inline]
    fn written(&mut self, lpn: Lpn) -> u8 {
        self.partition(lpn)
    }

    #[inline]
    fn partition(&self, lpn: Lpn) -> u8 {
        self.of_page.get(lpn.index()).map_or(self.coldest, |&partition| partition.min(self.coldest))
    }

    fn forget(&mut self) {}

    /// As many bits a page as name a partition.
    fn ram_bytes(&self) -> u64 {
        let bits = u64::from(u8::BITS - self.coldest.leading_zeros());
        if self.keeps { (self.of_page.len() as u64 * bits).div_ceil(8) } else { 0 }
    }

    fn bytes(&self) -> u64 {
        self.of_page.len() as u64
    }
}

flashtwin_bits::state!(Offline {} kept { of_page, coldest, keeps });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_where_the_list_says_and_the_others_to_the_coldest() {
        let mut offline = Offline::new(3, vec![0, 2, 1, 9]);
        let told: Vec<u8> = (0..6).map(|lpn| offline.written(Lpn::new(lpn))).collect();
        assert_eq!(told, [0, 2, 1, 2, 2, 2]);
        assert_eq!((offline.ram_bytes(), offline.bytes()), (1, 4));
        assert_eq!(Offline::new(1, vec![0; 100]).ram_bytes(), 0, "nothing to name");
        assert_eq!(Offline::new(2, vec![0; 100]).ram_bytes(), 13);
    }
}
