//! The versions of a database.

/// The migrations: each brings the database of a data folder to its next version.
pub(crate) const MIGRATIONS: [&str; 20] = [
    include_str!("../1_tables.sql"),
    include_str!("../2_visits.sql"),
    include_str!("../3_groups.sql"),
    include_str!("../4_visit.sql"),
    include_str!("../5_pages.sql"),
    include_str!("../6_waits.sql"),
    include_str!("../7_withdrawals.sql"),
    include_str!("../8_erased.sql"),
    include_str!("../9_messages.sql"),
    include_str!("../10_shown.sql"),
    include_str!("../11_ways.sql"),
    include_str!("../12_group_waits.sql"),
    include_str!("../13_signs_of_life.sql"),
    include_str!("../14_ledger.sql"),
    include_str!("../15_salts.sql"),
    include_str!("../16_audit.sql"),
    include_str!("../17_privacy.sql"),
    include_str!("../18_model_calls.sql"),
    include_str!("../19_desk_messages.sql"),
    include_str!("../20_logs.sql"),
];
