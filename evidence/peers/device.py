"""The device that all simulators are given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """Geometry and timing that all simulators can express alike."""

    channels: int = 8
    chips_per_channel: int = 2
    dies_per_chip: int = 2
    planes_per_die: int = 2
    blocks_per_plane: int = 2048
    pages_per_block: int = 64
    page_bytes: int = 4096
    read_us: int = 75
    program_us: int = 400
    erase_us: int = 3800
    bus_mt_s: int = 40
    command_ns: int = 175
    #: A plane collects when this many of its blocks are free.
    free_blocks: int = 32

    @property
    def chips(self) -> int:
        return self.channels * self.chips_per_channel

    @property
    def pages(self) -> int:
        planes = self.chips * self.dies_per_chip * self.planes_per_die
        return planes * self.blocks_per_plane * self.pages_per_block

    @property
    def transfer_us(self) -> float:
        """Command and data of a page on the bus, which is 8 bits wide."""
        return self.page_bytes / self.bus_mt_s + self.command_ns / 1000

    def mean_gap_us(self, load: float, *, write_share: float, pages: int = 1) -> float:
        """Mean time between requests that keeps the busiest of chips and channels at work for `load` of the time.

        Chips do one operation at a time here, as the peers' do.
        """
        array_us = write_share * self.program_us + (1 - write_share) * self.read_us
        page_us = max((self.transfer_us + array_us) / self.chips, self.transfer_us / self.channels)
        return page_us * pages / load
