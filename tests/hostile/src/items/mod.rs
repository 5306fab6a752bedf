//! The items, one file each: `NAME`, `TRIES` in one sentence, and `attack`.

use crate::item::Item;

/// Lists modules; `alone` marks those that need the machine for themselves.
macro_rules! items {
    ($($module:ident $($alone:ident)?),* $(,)?) => {
        $(mod $module;)*

        /// Every item.
        pub(crate) fn all() -> Vec<Item> {
            vec![$(Item {
                name: $module::NAME,
                tries: $module::TRIES,
                alone: items!(@ $($alone)?),
                attack: |world, variant| Box::pin($module::attack(world, variant)),
            }),*]
        }
    };
    (@ alone) => { true };
    (@) => { false };
}

items! {
    invented_episode,
    honest_blamed,
    comes_and_goes,
    false_silence,
    foreign_inputs,
    replayed_inputs,
    withheld_from_partner,
    withheld_from_server,
    withheld_outage,
    never_acknowledges,
    stops_at_end,
    second_tab,
    false_digests,
    forged_seals,
    late_seal,
    trickled_inputs,
    told_delay,
    false_delay,
    endless_returns,
    old_digests,
    filling_notes,
    wrong_digests,
    never_ready,
    idle_pay,
    withdrawal_pay,
    quota_closed,
    turned_away,
    id_forms,
    csv_formulas,
    second_tab_draft,
    signal_flood,
    private_candidates,
    silent_sockets alone,
    address_limits alone,
    dev_origin,
    frames_removed,
    rows_forged,
    rows_changed,
    database_missing,
    junk_note,
    jumping_note,
    withdrawn_bytes,
    folder_mode,
    clock_ahead,
    retention_unvisited,
    full_disk,
    clock_back,
    idle_memory alone,
    slow_entry alone,
    turn_credentials,
    invented_ids alone,
}
