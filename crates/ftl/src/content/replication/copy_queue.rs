//! Copies that are wanted or under way, one by one.

use crate::ids::Vpn;
use flashtwin_bits::By;
use flashtwin_nand::{NO_PPN, Ppn};

pub(super) use crate::content::background::CopyJob;

#[derive(Clone, Default)]
pub(crate) struct CopyQueue {
    /// Contents that have earned a copy since jobs were last begun, and the page to be read for it.
    earned: Vec<(Vpn, Ppn)>,
    /// By VPN: a copy is wanted or under way.
    copying: By<Vpn, Vec<bool>>,
}

/// The outcome of a copy whose page has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Placed,
    /// There is no room for it, or its content no longer earns it.
    Refused,
    /// The page was moved before it was read: it is to be read again.
    Moved,
    /// The content has died.
    Gone,
}

impl CopyQueue {
    fn copying(&mut self, vpn: Vpn) -> &mut bool {
        if vpn.index() >= self.copying.len() {
            self.copying.resize(vpn.index() + 1, false);
        }
        &mut self.copying[vpn]
    }

    /// A content has earned a copy. Returns whether one is wanted or under way: the policy looks again when it has
    /// ended.
    pub(super) fn earn(&mut self, vpn: Vpn) -> bool {
        let under_way = std::mem::replace(self.copying(vpn), true);
        if !under_way {
            self.earned.push((vpn, NO_PPN));
        }
        under_way
    }

    pub(super) fn done(&mut self, vpn: Vpn) {
        *self.copying(vpn) = false;
    }

    /// Notes `ppn`, the page that serves the read last counted: a copy that the read earned is made from there.
    #[inline]
    pub(super) fn serve(&mut self, ppn: Ppn) {
        if let Some((_, from)) = self.earned.last_mut().filter(|(_, from)| *from == NO_PPN) {
            *from = ppn;
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.earned.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<(Vpn, Ppn)> {
        self.earned.pop()
    }
}

flashtwin_bits::state!(CopyQueue { earned, copying });
