//! Rows that decide payments and that somebody changed: nobody is paid on the basis of them.

use store::Payment;

/// Adds the session to each sentence that names a participant of a payment.
pub(super) fn name_sessions(altered: Vec<String>, payments: &[Payment]) -> Vec<String> {
    let name = |sentence: String| {
        let is_named = |payment: &&Payment| {
            let mut words = sentence.split_whitespace();
            words.any(|word| word == payment.participant)
        };
        match payments.iter().find(is_named) {
            Some(payment) => format!("{sentence} (session {})", payment.session),
            None => sentence,
        }
    };
    altered.into_iter().map(name).collect()
}

/// Refuses to pay by rows that somebody changed.
pub(super) fn ensure_unaltered(altered: &[String]) -> anyhow::Result<()> {
    anyhow::ensure!(
        altered.is_empty(),
        "nothing is written or marked as paid, because the database is not as the program stored it:\n  {}\n\
         Take the database from a backup of before the change, or pay these people by hand; `coplay verify` says when \
         everything is as it was stored.",
        altered.join("\n  ")
    );
    Ok(())
}
