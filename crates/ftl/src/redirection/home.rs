//! No redirection.

use flashtwin_nand::{Geometry, Ppn};

use super::Redirection;
use crate::loads::LoadView;
use crate::op::ReadTarget;

#[derive(Clone)]
pub(super) struct Home;

impl Redirection for Home {
    #[inline]
    fn choose(&self, home: Ppn, _replicas: &[Ppn], _loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget {
        ReadTarget { ppn: home, plane: geometry.plane(home), redirected: false }
    }
}

flashtwin_bits::state!(Home {});
