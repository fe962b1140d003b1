//! Static allocation: the plane is a fixed function of the logical page number.
//!
//! Source: Hu et al., ICS 2011; Jung and Kandemir, HotStorage 2012; Tavakkol et al.,
//! SIGMETRICS 2014: all 24 orders of the four levels.

use flashtwin_nand::{Geometry, Plane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Allocation;
use crate::loads::LoadView;

/// The four levels, fastest changing first, for example `CWDP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Order([u8; 4]);

impl Default for Order {
    fn default() -> Self {
        Self(*b"CWDP")
    }
}

impl TryFrom<String> for Order {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let letters: [u8; 4] = text.to_uppercase().bytes().collect::<Vec<_>>().try_into().unwrap_or([0; 4]);
        let mut sorted = letters;
        sorted.sort_unstable();
        if sorted == *b"CDPW" {
            return Ok(Self(letters));
        }
        Err(format!("'{text}' is not an order of the letters C, W, D and P, such as CWDP"))
    }
}

impl From<Order> for String {
    fn from(order: Order) -> Self {
        order.0.iter().map(|&letter| letter as char).collect()
    }
}

#[derive(Clone)]
pub(super) struct StaticOrder {
    /// Plane of each residue of the page number modulo the number of planes.
    planes: Vec<Plane>,
    stripe_pages: u64,
}

impl StaticOrder {
    pub(super) fn new(order: Order, stripe_pages: u32, geometry: &Geometry) -> Self {
        Self { planes: planes_in(order, geometry), stripe_pages: u64::from(stripe_pages) }
    }

    #[inline]
    fn of(&self, address: u64) -> Plane {
        let address = if self.stripe_pages == 1 { address } else { address / self.stripe_pages };
        let count = self.planes.len() as u64;
        // Divisions are not free, and most devices have a power of two of planes.
        let index = if count.is_power_of_two() { address & (count - 1) } else { address % count };
        self.planes[index as usize]
    }
}

pub(crate) fn planes_in(order: Order, geometry: &Geometry) -> Vec<Plane> {
    (0..geometry.planes()).map(|index| plane_of(order, geometry, index)).collect()
}

fn plane_of(order: Order, geometry: &Geometry, index: u32) -> Plane {
    let mut rest = index;
    let [mut channel, mut way, mut die, mut plane] = [0; 4];
    for letter in order.0 {
        let (coordinate, count) = match letter {
            b'C' => (&mut channel, geometry.channels),
            b'W' => (&mut way, geometry.chips_per_channel),
            b'D' => (&mut die, geometry.dies_per_chip),
            _ => (&mut plane, geometry.planes_per_die),
        };
        *coordinate = rest % count;
        rest /= count;
    }
    geometry.plane_at(channel, way, die, plane)
}

impl Allocation for StaticOrder {
    fn plane(&mut self, address: u64, _loads: &LoadView<'_>) -> Plane {
        self.of(address)
    }

    fn wants_address(&self) -> bool {
        true
    }

    fn foresee(&self, address: u64) -> Option<Plane> {
        Some(self.of(address))
    }
}

flashtwin_bits::state!(StaticOrder {} kept { planes, stripe_pages });

#[cfg(test)]
mod tests {
    use super::*;

    fn order(text: &str) -> Order {
        Order::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn cwdp_walks_the_channels_first_and_pdwc_the_planes() {
        let g = crate::tests::ds_ftl();
        let loads = LoadView::new(&[0; 16], &[0; 32]);
        let mut cwdp = StaticOrder::new(order("CWDP"), 1, &g);
        let channel = |plane| g.channel_of_chip(g.chip_of_plane(plane)).number();
        let walked: Vec<u32> = (0..9).map(|lpn| channel(cwdp.plane(lpn, &loads))).collect();
        assert_eq!(walked, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!(cwdp.plane(8, &loads), g.plane_at(0, 1, 0, 0));
        let mut pdwc = StaticOrder::new(order("PDWC"), 1, &g);
        assert_eq!(pdwc.plane(1, &loads), g.plane_at(0, 0, 0, 1));
        assert_eq!(pdwc.plane(2, &loads), g.plane_at(0, 0, 1, 0));
        assert_eq!(pdwc.plane(8, &loads), g.plane_at(1, 0, 0, 0));
    }

    #[test]
    fn neighbours_of_a_stripe_share_a_plane() {
        let g = crate::tests::ds_ftl();
        let loads = LoadView::new(&[0; 16], &[0; 32]);
        for stripe in [1u32, 3, 4, 1000] {
            let mut one = StaticOrder::new(order("PDWC"), 1, &g);
            let mut striped = StaticOrder::new(order("PDWC"), stripe, &g);
            for address in 0..4_000 {
                let of_stripe = address / u64::from(stripe);
                assert_eq!(striped.plane(address, &loads), one.plane(of_stripe, &loads));
            }
        }
        // Two dies of two planes, four pages in each: a chip has 16 neighbours.
        let mut striped = StaticOrder::new(order("PDWC"), 4, &g);
        let chips: Vec<_> = (0..32).map(|address| g.chip_of_plane(striped.plane(address, &loads))).collect();
        assert!(chips[..16].iter().all(|&chip| chip == chips[0]) && chips[16] != chips[0]);
    }

    #[test]
    fn other_letters_are_refused() {
        for text in ["", "CWD", "CWDD", "CWDPX", "ABCD"] {
            assert!(Order::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
