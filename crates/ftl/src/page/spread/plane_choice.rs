//! The plane of a duplicate on its new channel, which the DS-FTL paper leaves open (4.2.1: round robin).

use crate::policies::policies;
use flashtwin_bits::By;
use flashtwin_nand::{Channel, Geometry, Plane};

use crate::flash::allocation::{Order, planes_in};
use crate::flash::blocks::Blocks;
use crate::loads::LoadView;

policies! {
    /// Plane of a duplicate on its new channel.
    pub enum PlacePolicy;

    /// The planes of the channel in turn, in the order of `ftl.allocation.order`: with `CWDP` chip
    /// by chip, then die, then plane (DS-FTL paper 4.2.1: round robin).
    #[default]
    RoundRobin;
    /// The plane with the least loaded chip, and unit in it; equals in turn.
    #[schemars(extend("x-traits" = ["weighs-load"]))]
    LeastLoaded;
    /// The chip, die and plane that the allocation proposed on its own channel. Under `static` with
    /// `CWDP` this is the plane of the next page by address, which a request of several pages uses
    /// at the same time.
    SamePlace;
}

#[derive(Clone)]
pub(super) struct PlaneTurns {
    policy: PlacePolicy,
    /// Channel by channel, in the order of their turns.
    planes: Vec<Plane>,
    per_channel: usize,
    next: By<Channel, Vec<usize>>,
}

impl PlaneTurns {
    pub(super) fn new(policy: PlacePolicy, order: Order, geometry: &Geometry) -> Self {
        let channel = |&plane: &Plane| geometry.channel_of_chip(geometry.chip_of_plane(plane));
        let mut planes = planes_in(order, geometry);
        // Stable: the order within a channel is that of all planes.
        planes.sort_by_key(channel);
        let per_channel = planes.len() / geometry.channels as usize;
        Self { policy, planes, per_channel, next: By::new(vec![0; geometry.channels as usize]) }
    }

    /// The planes of a channel with room for a page, the one whose turn it is first.
    fn open<'a>(&'a self, channel: Channel, blocks: &'a Blocks) -> impl Iterator<Item = Plane> + 'a {
        let planes = &self.planes[channel.index() * self.per_channel..][..self.per_channel];
        let (before, after) = planes.split_at(self.next[channel]);
        after.iter().chain(before).copied().filter(|&plane| blocks.has_room(plane))
    }

    /// The plane of `channel` for a page proposed for the plane `proposal` of another; `None` without room.
    #[inline]
    pub(super) fn next_plane(
        &self,
        channel: Channel,
        proposal: Plane,
        blocks: &Blocks,
        loads: &LoadView<'_>,
    ) -> Option<Plane> {
        let next = self.planes[channel.index() * self.per_channel + self.next[channel]];
        if self.policy == PlacePolicy::RoundRobin && blocks.has_room(next) {
            return Some(next);
        }
        self.search(channel, proposal, blocks, loads)
    }

    /// The same where the plane whose turn it is has no room, or other things than turns count.
    #[inline(never)]
    fn search(
        &self,
        channel: Channel,
        proposal: Plane,
        blocks: &Blocks,
        loads: &LoadView<'_>,
    ) -> Option<Plane> {
        match self.policy {
            PlacePolicy::RoundRobin => self.open(channel, blocks).next(),
            PlacePolicy::LeastLoaded => {
                self.open(channel, blocks).min_by_key(|&plane| loads.of_plane(plane, &blocks.geometry))
            }
            PlacePolicy::SamePlace => {
                let plane = same_place(channel, proposal, &blocks.geometry);
                blocks.has_room(plane).then_some(plane)
            }
        }
    }

    #[inline]
    pub(super) fn taken(&mut self, channel: Channel, plane: Plane) {
        let first = channel.index() * self.per_channel;
        let planes = &self.planes[first..first + self.per_channel];
        // Most often it is the one whose turn it is.
        let next = &mut self.next[channel];
        let others = || planes.iter().position(|&other| other == plane);
        if let Some(at) = if planes[*next] == plane { Some(*next) } else { others() } {
            *next = if at + 1 == self.per_channel { 0 } else { at + 1 };
        }
    }
}

/// The chip, die and plane of `plane` on another channel. Neighbouring channels' planes are a chip's planes apart.
fn same_place(channel: Channel, plane: Plane, geometry: &Geometry) -> Plane {
    let (chip, per_chip) = (geometry.chip_of_plane(plane).number(), geometry.planes_per_chip());
    let other = chip - chip % geometry.channels + channel.number();
    Plane::new(other * per_chip + plane.number() % per_chip)
}

flashtwin_bits::state!(PlaneTurns { next } kept { policy, planes, per_channel });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FtlConfig;

    fn scene(policy: PlacePolicy, order: &str) -> (Geometry, Blocks, PlaneTurns) {
        let g = crate::tests::ds_ftl();
        let config = FtlConfig::default();
        let blocks = Blocks::new(
            &g,
            &config.partition,
            &config.wear,
            config.gc.victim.build(1, &g, 0, &config.foreign),
        );
        let places = PlaneTurns::new(policy, Order::try_from(order.to_owned()).unwrap(), &g);
        (g, blocks, places)
    }

    #[test]
    fn turns_follow_the_allocation_order_within_a_channel() {
        let idle = LoadView::new(&[0; 16], &[0; 32]);
        for (order, second, third) in [("CWDP", [1, 0, 0], [0, 1, 0]), ("PDWC", [0, 0, 1], [0, 1, 0])] {
            let (g, blocks, mut places) = scene(PlacePolicy::RoundRobin, order);
            let mut went = Vec::new();
            for turn in 0..9 {
                // Turns of other channels do not matter.
                let other =
                    places.next_plane(Channel::new(turn % 3), Plane::new(63), &blocks, &idle).unwrap();
                places.taken(Channel::new(turn % 3), other);
                let plane = places.next_plane(Channel::new(5), Plane::new(0), &blocks, &idle).unwrap();
                places.taken(Channel::new(5), plane);
                went.push(plane);
            }
            let at = |[chip, die, plane]: [u32; 3]| g.plane_at(5, chip, die, plane);
            assert_eq!(went[..3], [at([0, 0, 0]), at(second), at(third)], "{order}");
            assert_eq!(went[8], went[0]);
            went.sort_unstable();
            went.dedup();
            assert_eq!(went.len(), 8, "each plane of the channel once");
        }
    }

    #[test]
    fn least_loaded_chip_and_its_least_loaded_die_win() {
        let (g, blocks, places) = scene(PlacePolicy::LeastLoaded, "CWDP");
        let (mut chip, mut unit) = ([4; 16], [2; 32]);
        // Chip 3 is on channel 3 and idle: another channel's. Of chips 5 and 13 on channel 5, the second.
        (chip[3], chip[13]) = (0, 3);
        unit[27] = 1;
        let plane =
            places.next_plane(Channel::new(5), Plane::new(0), &blocks, &LoadView::new(&chip, &unit)).unwrap();
        assert_eq!(plane, g.plane_at(5, 1, 1, 0));
        let by_unit = LoadView { units_decide: true, ..LoadView::new(&[0; 16], &unit) };
        assert_eq!(places.next_plane(Channel::new(5), Plane::new(0), &blocks, &by_unit), Some(plane));
    }

    #[test]
    fn the_same_place_is_that_of_the_proposal() {
        let (g, blocks, places) = scene(PlacePolicy::SamePlace, "CWDP");
        let idle = LoadView::new(&[0; 16], &[0; 32]);
        let proposal = g.plane_at(2, 1, 0, 1);
        assert_eq!(
            places.next_plane(Channel::new(7), proposal, &blocks, &idle),
            Some(g.plane_at(7, 1, 0, 1))
        );
        assert_eq!(
            places.next_plane(Channel::new(0), proposal, &blocks, &idle),
            Some(g.plane_at(0, 1, 0, 1))
        );
    }
}
