use flashtwin_analysis::rows;

use super::Entry;
use crate::engine::Charge;

rows! {
    /// One row a request, in the order of completion.
    ///
    /// Only with `--per-request` (`per_request=True`). A request completes with its last page
    /// operation: the chip is that of this page, and so are the parts of the time, which sum to
    /// `response_ns` without remainder. Trims have no response time; their parts are 0.
    pub(crate) struct RequestRow<'a> in "requests" {
        /// Place in the trace, from 0.
        request: u64,
        /// Name of the system, from the configuration.
        system: &'a str,
        /// `read`, `write`, `trim`, `flush`.
        op: &'static str,
        /// Number of its volume, from 0, in the order of the volumes' numbers in the trace's file.
        volume: u32,
        /// First byte on its volume; 0 for flushes.
        offset_bytes: u64,
        /// Bytes that it addresses; 0 for flushes.
        length_bytes: u32,
        /// Page operations.
        pages: u32,
        /// Arrival, on the trace's clock.
        time_ns: i64,
        /// Arrival, in simulated time.
        arrival_ns: i64,
        /// From the arrival to the completion; missing for trims.
        response_ns: Option<u64>,
        /// Chip of the page that completed last; missing if controller RAM served it.
        chip: Option<u32>,
        /// Whether that page was read from a copy instead of its home.
        redirected: bool,
        /// Waiting: the unit served a host read.
        host_read_ns: u64,
        /// Waiting: the unit programmed a host page.
        host_program_ns: u64,
        /// Waiting: the unit read a page for collection or wear levelling.
        gc_read_ns: u64,
        /// Waiting: the unit programmed a page for collection or wear levelling.
        gc_program_ns: u64,
        /// Waiting: the unit erased a block.
        erase_ns: u64,
        /// Waiting: the unit read or programmed a copy.
        copy_ns: u64,
        /// Waiting: the unit read or programmed a mapping-table page.
        table_page_ns: u64,
        /// Waiting: the unit read a page to compare or fingerprint it.
        comparison_ns: u64,
        /// Waiting: the unit was idle, as another operation had to come first.
        order_ns: u64,
        /// Waiting: the program was suspended for reads.
        suspension_ns: u64,
        /// Waiting: the channel was busy.
        channel_ns: u64,
        /// Waiting: the hash unit hashed other pages.
        hash_queue_ns: u64,
        /// Waiting: mapping-table pages were read first.
        tables_ns: u64,
        /// Waiting: the page was on its way to the flash.
        page_program_ns: u64,
        /// Waiting: the write cache was full.
        cache_place_ns: u64,
        /// Waiting: earlier writes were not safe yet (flush).
        earlier_writes_ns: u64,
        /// Waiting: the controller had no free slot.
        slot_ns: u64,
        /// Waiting: the host's link carried data of other requests.
        link_ns: u64,
        /// Service: the page was hashed.
        hash_ns: u64,
        /// Service: command and data on the channel, and the request's data on the host's link.
        transfer_ns: u64,
        /// Service: the array sensed or programmed.
        flash_ns: u64,
        /// Service: the controller's own time.
        controller_ns: u64,
    }
}

impl<'a> RequestRow<'a> {
    pub(super) fn of(system: &'a str, entry: &Entry) -> RequestRow<'a> {
        let of = |charge: Charge| entry.ledger.of(charge);
        let arrived = &entry.arrived;
        RequestRow {
            request: arrived.number,
            system,
            op: arrived.kind.name(),
            volume: arrived.extent.volume,
            offset_bytes: arrived.extent.offset_bytes,
            length_bytes: arrived.extent.length_bytes,
            pages: arrived.pages,
            time_ns: arrived.time_ns,
            arrival_ns: arrived.arrival_ns as i64,
            response_ns: entry.total_ns,
            chip: entry.server.map(|server| server.chip.number()),
            redirected: entry.server.is_some_and(|server| server.redirected),
            host_read_ns: of(Charge::HostRead),
            host_program_ns: of(Charge::HostProgram),
            gc_read_ns: of(Charge::GcRead),
            gc_program_ns: of(Charge::GcProgram),
            erase_ns: of(Charge::Erase),
            copy_ns: of(Charge::Copy),
            table_page_ns: of(Charge::TablePage),
            comparison_ns: of(Charge::Comparison),
            order_ns: of(Charge::Order),
            suspension_ns: of(Charge::Suspension),
            channel_ns: of(Charge::Channel),
            hash_queue_ns: of(Charge::HashQueue),
            tables_ns: of(Charge::Tables),
            page_program_ns: of(Charge::PageProgram),
            cache_place_ns: of(Charge::CachePlace),
            earlier_writes_ns: of(Charge::EarlierWrites),
            slot_ns: of(Charge::Slot),
            link_ns: of(Charge::Link),
            hash_ns: of(Charge::Hash),
            transfer_ns: of(Charge::Transfer),
            flash_ns: of(Charge::Flash),
            controller_ns: of(Charge::Controller),
        }
    }
}

#[cfg(test)]
mod tests {
    use flashtwin_analysis::Row;

    use super::*;

    #[test]
    fn every_charge_has_its_column() {
        let (_, schema) = RequestRow::schema();
        let columns: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        let charges: Vec<String> = Charge::ALL.iter().map(|charge| format!("{}_ns", charge.name())).collect();
        assert_eq!(columns[columns.len() - Charge::COUNT..], charges);
    }
}
