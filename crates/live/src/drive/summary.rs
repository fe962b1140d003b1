//! Statistics of a drive, under the names of the results of a replay.

use flashtwin_ftl::Cause;
use serde_json::{Value, json};

use super::{CheckReport, Drive, DriveInfo, DriveStats};

impl DriveStats {
    /// Ratios of nothing are null.
    pub fn json(&self) -> Value {
        let counters = &self.controller;
        let by = |cause: Cause| counters.programs[cause as usize];
        let read = |cause: Cause| counters.reads[cause as usize];
        json!({
            "flash_reads": {
                "host": read(Cause::Host),
                "read_modify_write": read(Cause::ReadModifyWrite),
                "gc": read(Cause::Gc),
                "replica": read(Cause::Replica),
                "metadata": read(Cause::Metadata),
                "verify": read(Cause::Verify),
                "fingerprint": read(Cause::Fingerprint),
                "wear_levelling": read(Cause::WearLevelling),
            },
            "flash_writes": {
                "host": by(Cause::Host),
                "unique": by(Cause::Unique),
                "missed_duplicate": by(Cause::MissedDuplicate),
                "reborn": by(Cause::Reborn),
                "gc": by(Cause::Gc),
                "replica": by(Cause::Replica),
                "metadata": by(Cause::Metadata),
                "wear_levelling": by(Cause::WearLevelling),
                // A drive of real bytes programs page by page: no unit is padded, and no page is parity.
                "padding": 0,
                "parity": 0,
            },
            "pages_programmed": counters.pages_programmed(),
            "host_pages_written": counters.host_pages_written,
            "write_amplification": counters.write_amplification_of(counters.host_pages_written),
            "erases": { "total": counters.erases },
            "page_ops": {
                "duplicate_writes": counters.pages.duplicate_writes,
                "unmapped_reads": counters.unmapped_reads,
                "redirected_reads": counters.redirected_reads,
            },
            "duplicate_write_share": self.duplicate_share,
            "state": {
                "mapped_pages": self.mapped_pages,
                "pages_in_use": self.pages_in_use,
                "replica_pages": self.replica_pages,
                "contents": self.contents,
                "lost_pages": self.lost_pages,
                "retired_blocks": self.retired_blocks,
                "table_bytes": self.table_bytes,
            },
            "store": self.store,
        })
    }
}

impl DriveInfo {
    pub fn json(&self) -> Value {
        let uuid: String = self.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({
            "system": self.system.name,
            "seed": self.system.seed,
            "period_s": self.system.period_s,
            "size_bytes": self.size_bytes,
            "medium_bytes": self.medium_bytes,
            "most_recovery_bytes": self.most_recovery_bytes,
            "format": self.version,
            "uuid": uuid,
            "checkpoints": self.epoch,
            "pages_programmed": self.pages_programmed,
            "config": { "ftl": self.system.ftl, "nand": self.system.nand },
        })
    }
}

impl CheckReport {
    pub fn json(&self) -> Value {
        // Plain numbers and texts always have a JSON form.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Drive {
    pub fn json(&self) -> Value {
        let mut value = self.stats().json();
        let (batches, time) = self.recovery();
        value["system"] = self.system().name.clone().into();
        value["size_bytes"] = crate::Export::size_bytes(self).into();
        value["read_only"] = crate::Export::read_only(self).into();
        value["notes"] = self.notes().into();
        value["recovery"] = json!({ "log_batches": batches, "seconds": time.as_secs_f64() });
        value
    }
}
