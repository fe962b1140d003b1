//! Follow-up of finished background jobs.

use flashtwin_nand::Ppn;

use crate::ids::{Content, Lpn, Vpn};

/// A page that was written without a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(super) lpn: Lpn,
    pub(crate) vpn: Vpn,
    /// Tells this write from earlier ones of the same VPN, since VPNs are used again.
    pub(super) ticket: u32,
    pub(crate) ppn: Ppn,
}

/// A content of which a page is read to be copied. Its VPN may be another content's by then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyJob {
    pub(super) vpn: Vpn,
    pub(super) content: Content,
    pub(super) ppn: Ppn,
}

#[derive(Debug, Clone)]
pub(crate) enum Background {
    Copy(CopyJob),
    Copied,
    Fingerprint(Candidate),
}

const _: () = assert!(size_of::<Background>() <= 56, "with what is left to do, a job is a cache line");

flashtwin_bits::state!(value Candidate { lpn, vpn, ticket, ppn });
