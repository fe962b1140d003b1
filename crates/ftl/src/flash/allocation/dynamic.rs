//! Dynamic allocation: every page written goes to the next plane in turn, whatever its address.
//!
//! Source: Tavakkol et al., SIGMETRICS 2014 (the orders); DS-FTL paper, section 2.2 (round robin).

use flashtwin_nand::{Geometry, Plane};

use super::Allocation;
use super::static_order::{Order, planes_in};
use crate::loads::LoadView;

#[derive(Clone)]
pub(super) struct Dynamic {
    planes: Vec<Plane>,
    next: usize,
}

impl Dynamic {
    pub(super) fn new(order: Order, geometry: &Geometry) -> Self {
        Self { planes: planes_in(order, geometry), next: 0 }
    }
}

impl Allocation for Dynamic {
    fn plane(&mut self, _address: u64, _loads: &LoadView<'_>) -> Plane {
        let plane = self.planes[self.next];
        self.next = if self.next + 1 == self.planes.len() { 0 } else { self.next + 1 };
        plane
    }

    fn wants_address(&self) -> bool {
        false
    }
}

flashtwin_bits::state!(Dynamic { next } kept { planes });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round_all_planes_in_the_order_asked_for() {
        let g = crate::tests::ds_ftl();
        let loads = LoadView::new(&[9; 16], &[9; 32]);
        let mut dynamic = Dynamic::new(Order::try_from("PCWD".to_owned()).unwrap(), &g);
        let planes: Vec<Plane> = (0..65).map(|_| dynamic.plane(7, &loads)).collect();
        assert_eq!(planes[..3], [g.plane_at(0, 0, 0, 0), g.plane_at(0, 0, 0, 1), g.plane_at(1, 0, 0, 0)]);
        assert_eq!(planes[64], planes[0]);
    }
}
