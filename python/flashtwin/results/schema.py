"""What results hold: the names of all fields and columns. Whoever reads one by its name is checked against these.

The core writes what stands here, no more and no less: a test runs every system and compares, so a column that is
renamed in the core fails the test instead of being absent from a chart. Units are in the names; docs/results.md and
docs/characterization.md say what each field means.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from functools import cache

from flashtwin.errors import InternalError


def _fields(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _columns(text: str) -> dict[str, tuple[str, ...]]:
    """Tables with their columns, from words of which those that end in a colon are tables."""
    found: dict[str, tuple[str, ...]] = {}
    table = ""
    for word in text.split():
        if word.endswith(":"):
            table = word[:-1]
            found[table] = ()
        else:
            found[table] += (word,)
    return found


#: Fields of the summary of a run by their dotted paths, but for the configuration; of lists, those of the entries.
SUMMARY = _fields(
    """
    flashtwin system seed trace.name trace.digest trace.requests trace.page_ops trace.footprint_pages trace.contents
    trace.content_source trace.quality.read_mismatches trace.quality.unknown_content_reads
    trace.quality.reads_after_trim trace.quality.unaligned_content_requests trace.quality.partial_writes
    trace.quality.partial_trims duration_ns completed_ns requests.read requests.write requests.trim
    requests.completed response.read.count response.read.mean_ns response.read.stddev_ns response.read.min_ns
    response.read.max_ns response.read.p50_ns response.read.p90_ns response.read.p95_ns response.read.p99_ns
    response.read.p99_9_ns response.read.p99_99_ns response.read.split.queueing_ns
    response.read.split.channel_wait_ns response.read.split.hash_wait_ns response.read.split.other_wait_ns
    response.read.split.hash_ns response.read.split.transfer_ns response.read.split.flash_ns
    response.read.split.controller_ns response.write.count response.write.mean_ns response.write.stddev_ns
    response.write.min_ns response.write.max_ns response.write.p50_ns response.write.p90_ns response.write.p95_ns
    response.write.p99_ns response.write.p99_9_ns response.write.p99_99_ns response.write.split.queueing_ns
    response.write.split.channel_wait_ns response.write.split.hash_wait_ns response.write.split.other_wait_ns
    response.write.split.hash_ns response.write.split.transfer_ns response.write.split.flash_ns
    response.write.split.controller_ns response.all.count response.all.mean_ns response.all.stddev_ns
    response.all.min_ns response.all.max_ns response.all.p50_ns response.all.p90_ns response.all.p95_ns
    response.all.p99_ns response.all.p99_9_ns response.all.p99_99_ns response.all.split.queueing_ns
    response.all.split.channel_wait_ns response.all.split.hash_wait_ns response.all.split.other_wait_ns
    response.all.split.hash_ns response.all.split.transfer_ns response.all.split.flash_ns
    response.all.split.controller_ns page_ops.read page_ops.write page_ops.trim page_ops.buffer_reads
    page_ops.awaited_reads page_ops.unmapped_reads page_ops.redirected_reads page_ops.redirected_writes
    page_ops.merged_reads page_ops.cache_reads page_ops.absorbed_writes page_ops.suspensions
    page_ops.multi_plane_commands page_ops.multi_plane_ops page_ops.duplicate_writes page_ops.partial_writes
    page_ops.new_value_reads page_ops.replicated_value_reads page_ops.pages_hashed page_ops.allocation_fallbacks
    flash_operations.reads flash_operations.programs flash_operations.erases flash_reads.host
    flash_reads.read_modify_write flash_reads.gc flash_reads.replica flash_reads.metadata flash_reads.verify
    flash_reads.fingerprint flash_reads.wear_levelling flash_writes.host flash_writes.unique
    flash_writes.missed_duplicate flash_writes.reborn flash_writes.gc flash_writes.replica flash_writes.metadata
    flash_writes.wear_levelling pages_programmed host_pages_written write_amplification erases.total erases.blocks
    erases.per_block_mean erases.per_block_stddev erases.per_block_min erases.per_block_max erases.blocks_levelled
    erases.pe_cycles erases.life_used_percent erases.life_used_worst_percent dedup.hashes_inline
    dedup.hashes_out_of_line dedup.duplicates_inline dedup.duplicates_out_of_line dedup.duplicates_missed
    dedup.unhashed_pages dedup.gc_updates_two_level dedup.gc_updates_inverted mapping_cache.pages
    mapping_cache.pages_cached mapping_cache.pages_dirty mapping_cache.pages_on_flash mapping_cache.hits
    mapping_cache.misses mapping_cache.hit_ratio mapping_cache.waits mapping_cache.wait_mean_ns
    mapping_cache.written_back mapping_cache.gc_updates mapping_cache.checkpoints mapping_cache.checkpointed
    mapping_cache.moved mapping_cache.erases replication.passes replication.copies replication.dropped
    replication.serial_ns replication.parallel_ns replication.gc_reads replication.gc_programs
    replication.wear_levelling_programs replication.erases replication.replica_pages replication.replica_pages_peak
    replication.budget_pages spread.redirected_read_share spread.redirected_write_share spread.filter_positives
    spread.filter_false_positives spread.filter_stale_positives spread.filter_rebuilds spread.comparisons
    spread.comparisons_void spread.twins_found spread.twin_contents spread.twin_pages spread.jobs_dropped partitions
    partitions.blocks partitions.pages_written partitions.valid_pages redundancy.plane_mean redundancy.plane_stddev
    utilisation.channel_mean utilisation.channel_stddev utilisation.chip_mean utilisation.chip_stddev
    hash_unit.lanes hash_unit.pages hash_unit.utilisation hash_unit.queue_mean hash_unit.queue_max
    space.pages_in_use space.pages_in_use_peak space.footprint_pages space.contents_on_flash ram.lpn_to_ppn_bytes
    ram.lpn_to_vpn_bytes ram.vpn_to_ppn_bytes ram.fingerprint_store_bytes ram.replica_lists_bytes
    ram.inverse_tables_bytes ram.filter_bytes ram.twin_lists_bytes ram.partition_bytes ram.write_cache_bytes
    ram.priority_lists_bytes ram.mapping_cache_bytes ram.table_directory_bytes ram.total_bytes ram.page_map_bytes
    ram.two_level_total_bytes ram.inverted_total_bytes simulator.table_bytes simulator.bytes_per_footprint_page
    simulator.bytes_per_content
    """
)

#: Tables of a run.
TABLES: Mapping[str, tuple[str, ...]] = _columns(
    """
    periods: period start_ns end_ns reads writes read_mean_ns write_mean_ns all_mean_ns read_p99_ns write_p99_ns
        page_reads page_writes buffer_reads redirected_reads redirected_writes merged_reads new_value_reads
        replicated_value_reads duplicate_writes host_programs gc_programs replica_programs metadata_programs
        wear_programs erases copies replication_gc_programs replication_erases replication_serial_ns
        replication_parallel_ns replica_pages pages_in_use
    chips: chip channel reads redirected_reads programs erases busy_ns utilisation queue_mean queue_max valid_pages
        replica_pages
    channels: channel busy_ns utilisation
    planes: plane chip channel valid_pages contents redundancy
    queue_over_time: start_ns width_ns chip queue_mean queue_max
    hash_queue_over_time: start_ns width_ns queue_mean queue_max
    wait_ledger: kind requests count from_ns part charge mean_ns percent
    latency_histogram: kind upper_ns count
    gc_victims: valid_pages victims
    copies: copies contents
    blocks: erase_count blocks
    """
)

#: Fields of a characterization.
CHARACTERIZATION = _fields(
    """
    info.name info.format info.digest info.requests info.reads info.writes info.trims info.read_bytes
    info.write_bytes info.duration_ns info.volumes info.footprint_pages info.span_bytes info.has_content
    info.contents info.unique_values_read_percent info.unique_values_write_percent info.duplicate_write_percent
    info.sequential_percent info.request_bytes.read.mean info.request_bytes.read.median
    info.request_bytes.write.mean info.request_bytes.write.median info.request_bytes.trim.mean
    info.request_bytes.trim.median info.requests_per_second.mean info.requests_per_second.peak
    info.requests_per_second.peak_to_mean info.requests_per_second.index_of_dispersion
    info.requests_per_second.index_of_dispersion_10_ms info.requests_per_second.busiest_1_ms
    info.requests_per_second.busiest_10_ms info.trains.trains info.trains.within_1_ms_percent
    info.trains.mean_requests info.trains.median_requests info.trains.p90_requests
    info.trains.requests_in_long_percent info.trains.gap_median_ns info.trains.short_silence_percent
    info.trains.mixed_percent info.trains.joined_percent info.trains.sequential_percent info.quality.lines
    info.quality.bad_lines_skipped info.quality.bad_lines info.quality.passed_lines info.quality.reordered_requests
    info.quality.largest_step_back_ns info.quality.joined_lines info.quality.empty_requests
    info.quality.unaligned_content info.quality.warnings info.page_quality.read_mismatches
    info.page_quality.unknown_content_reads info.page_quality.reads_after_trim
    info.page_quality.unaligned_content_requests info.page_quality.partial_writes info.page_quality.partial_trims
    popularity.read.contents popularity.read.accesses popularity.read.contents_for_50_percent
    popularity.read.contents_for_80_percent popularity.write.contents popularity.write.accesses
    popularity.write.contents_for_50_percent popularity.write.contents_for_80_percent drift.periods
    drift.popular_before_percent drift.read_before_percent drift.seen_before_percent drift.first_read_percent
    drift.new_contents_max space.duplicate_write_percent space.rewrite_percent space.contents_of_pages_held_percent
    duplication.page_writes duplication.duplicate_percent duplication.static_percent duplication.round_robin_percent
    value_locality.sample.rate value_locality.sample.seed value_locality.read.content.accesses
    value_locality.read.content.items value_locality.read.content.reaccess_percent
    value_locality.read.content.entries_for_90_percent_of_reaccesses
    value_locality.read.content.memory_saved_percent value_locality.read.content.entries_for_90_percent_of_accesses
    value_locality.read.content.popular_items value_locality.read.content.popular_miss_percent_of_65536_entries
    value_locality.read.address.accesses value_locality.read.address.items
    value_locality.read.address.reaccess_percent value_locality.read.address.entries_for_90_percent_of_reaccesses
    value_locality.read.address.memory_saved_percent value_locality.read.address.entries_for_90_percent_of_accesses
    value_locality.read.address.popular_items value_locality.read.address.popular_miss_percent_of_65536_entries
    value_locality.write.content.accesses value_locality.write.content.items
    value_locality.write.content.reaccess_percent value_locality.write.content.entries_for_90_percent_of_reaccesses
    value_locality.write.content.memory_saved_percent
    value_locality.write.content.entries_for_90_percent_of_accesses value_locality.write.content.popular_items
    value_locality.write.content.popular_miss_percent_of_65536_entries value_locality.write.address.accesses
    value_locality.write.address.items value_locality.write.address.reaccess_percent
    value_locality.write.address.entries_for_90_percent_of_reaccesses
    value_locality.write.address.memory_saved_percent
    value_locality.write.address.entries_for_90_percent_of_accesses value_locality.write.address.popular_items
    value_locality.write.address.popular_miss_percent_of_65536_entries read_amplification.sector_bytes
    read_amplification.reads read_amplification.enough_reads read_amplification.sectors_asked
    read_amplification.read_amplification_16_kb read_amplification.highest_percent_of_page
    read_amplification.within_half_page read_cost.reads read_cost.cheapest_full_page_bytes
    read_cost.cheapest_partial_page_bytes read_cost.partial_cost_percent_16_kb
    read_cost.partial_cost_percent_16_kb_tlc logical_locality.options.sector_bytes
    logical_locality.options.direction logical_locality.options.distance_pages_max
    logical_locality.options.time_requests_max logical_locality.read.requests
    logical_locality.read.same_page_probability logical_locality.read.next_request_probability
    logical_locality.read.highest_probability logical_locality.write.requests
    logical_locality.write.same_page_probability logical_locality.write.next_request_probability
    logical_locality.write.highest_probability temperature.sector_bytes temperature.sectors_written
    temperature.sector_writes temperature.writes_per_sector_mean temperature.writes_per_sector_max
    temperature.partitions_for_ratio_1_5 temperature.partitions_for_ratio_2 temperature.partitions_for_ratio_3
    temperature.f_min_2 temperature.f_min_4 temperature.f_min_8 write_amplification.page_bytes
    write_amplification.pages_written write_amplification.page_writes write_amplification.writes_per_page_mean
    write_amplification.writes_per_sector_mean write_amplification.enters_statistics
    write_amplification.write_amplification_1 write_amplification.write_amplification_for_ratio_2
    write_amplification.write_amplification_for_ratio_3 options.period_s options.sample_rate options.sample_seed
    options.planes options.locality.distance_max options.locality.time_max options.locality.direction
    options.wa.page_bytes options.wa.partitions options.wa.over_provisioning_percent options.wa.other_page_bytes
    options.wa.other_partitions options.wa.other_over_provisioning_percent options.wa.frequency_ratios
    options.wa.block_pages options.memory_gb options.sector_bytes options.sampled
    """
)

#: Tables of a characterization.
WORKLOAD_TABLES: Mapping[str, tuple[str, ...]] = _columns(
    """
    periods: period start_ns end_ns reads writes trims read_bytes write_bytes page_reads page_writes
        distinct_contents_read distinct_contents_written new_contents_read new_contents
    request_sizes: kind bytes fraction
    interarrival: interval_ns fraction
    volumes: volume reads writes trims read_bytes write_bytes span_bytes
    popularity: kind value_fraction access_fraction
    popularity_by_period: period value_fraction access_fraction
    popularity_stability: period page_reads popular_before_percent read_before_percent seen_before_percent
        first_read_percent new_contents
    space: period end_ns pages_held contents_held share_percent
    duplicates_by_plane: allocation planes plane pages contents duplicate_percent
    miss_ratio: kind of entries miss_fraction miss_fraction_error
    popular_miss_ratio: kind entries miss_fraction
    read_amplification: page_bytes cache_pages sectors_asked sectors_missed read_amplification normalised estimated
        locality_discount
    read_cost: chip page_bytes full_reads full_ns partial_ns partial_reads
    logical_locality: kind distance_pages time_requests probability
    locality_gain: kind along at gain
    temperature: page_bytes writes_per_page pages
    partitions: page_bytes frequency_ratio partitions
    f_min: page_bytes partitions f_min
    write_amplification: page_bytes block_pages over_provisioning_percent partitions_asked purpose frequency_ratio
        partitions physical_blocks over_provisioned_blocks partitioning_overhead page_writes pages_programmed erases
        write_amplification why_missing
    """
)

#: What a run carries its whole configuration under; its keys are those of docs/configuration.md.
CONFIG = "config"


@cache
def _branches(fields: frozenset[str]) -> frozenset[str]:
    """All paths that lead to fields, the fields themselves included."""
    return frozenset(".".join(path.split(".")[:end]) for path in fields for end in range(1, path.count(".") + 2))


def summary_field(path: str) -> str:
    """A path into the summary of a run, if there is one of that name.

    Raises:
        InternalError: there is none; the message names the nearest.
    """
    return path if path.split(".", maxsplit=1)[0] == CONFIG else _known(path, _branches(SUMMARY), "summary of a run")


def characterization_field(path: str) -> str:
    """A path into a characterization; as `summary_field`."""
    return _known(path, _branches(CHARACTERIZATION), "characterization")


def trace_field(path: str) -> str:
    """A path into what is known of a trace: as a characterization has it, or as a run does; as `summary_field`."""
    of_runs = {field.removeprefix("trace.") for field in SUMMARY if field.startswith("trace.")}
    of_traces = {field.removeprefix("info.") for field in CHARACTERIZATION if field.startswith("info.")}
    return _known(path, _branches(frozenset(of_runs | of_traces)), "trace in numbers")


def run_table(name: str) -> str:
    """The name of a table of a run; as `summary_field`."""
    return _known(name, TABLES, "run's tables")


def workload_table(name: str) -> str:
    """The name of a table of a characterization; as `summary_field`."""
    return _known(name, WORKLOAD_TABLES, "tables of a characterization")


def column(name: str, columns: Collection[str]) -> str:
    """A column of a table that has these; as `summary_field`."""
    return _known(name, columns, "table")


def _known(name: str, names: Collection[str], what: str) -> str:
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; the nearest is '{near[0]}'" if near else ""
    raise InternalError(f"nothing in the {what} is called '{name}'{hint}")
