//! The metrics that follow a trace side by side: a row each.

crate::metric::metrics! {
    /// Drift of popularity; `null` without contents.
    drift: crate::drift::DriftFollower,
    /// Duplicates among writes, and space; `null` without contents.
    space: Option<crate::space::SpaceFollower>,
    /// Duplicates by plane; `null` without contents.
    duplication: crate::duplication::DuplicationCounter,
    /// Temporal locality of contents and of addresses.
    value_locality: crate::value_locality::ValueLocalityMeter,
    /// Read amplification.
    read_amplification: crate::read_amplification::ReadSimulator,
    /// Flash time of reading.
    read_cost: crate::read_cost::ReadCostMeter,
    /// Logical locality.
    logical_locality: crate::logical_locality::LogicalLocalityMeter,
}
