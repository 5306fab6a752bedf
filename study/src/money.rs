//! Amounts of money: how many decimals a currency has, and how files and participants' pages write an amount.
//!
//! This module must not know of studies.

use crate::limits::MAX_AMOUNT;

/// Decimals of a currency.
///
/// Source: ISO 4217.
pub fn decimals_of(currency: &str) -> usize {
    match currency {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX"
        | "UYI" | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

/// Writes an amount as in files: `4.50`.
pub fn write_money(amount: u64, currency: &str) -> String {
    let decimals = decimals_of(currency);
    let scale = SCALES[decimals];
    let (whole, part) = (amount / scale, amount % scale);
    match decimals {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:0decimals$}"),
    }
}

/// An amount as participants read it in their language: `£4.50`, in German `4,50 £`.
pub fn amount_in_language(amount: f64, currency: &str, language: &str) -> String {
    let scale = SCALES[decimals_of(currency)] as f64;
    let units = (amount.abs().min(MAX_AMOUNT) * scale).round() as u64;
    let sign = if amount < 0.0 && units > 0 { "−" } else { "" };
    format!("{sign}{}", units_in_language(units, currency, language))
}

/// An amount in the smallest units of its currency, as participants read it in their language.
pub fn units_in_language(units: u64, currency: &str, language: &str) -> String {
    let symbol = match currency {
        "AUD" => "A$",
        "CAD" => "CA$",
        "EUR" => "€",
        "GBP" => "£",
        "INR" => "₹",
        "JPY" => "¥",
        "KRW" => "₩",
        "USD" => "$",
        other => other,
    };
    let amount = write_money(units, currency);
    let is_word = symbol.chars().all(|c| c.is_ascii_alphabetic());
    match (language.split('-').next() == Some("en"), is_word) {
        _ if symbol.is_empty() => amount,
        (true, false) => format!("{symbol}{amount}"),
        (true, true) => format!("{symbol}\u{a0}{amount}"),
        (false, _) => format!("{}\u{a0}{symbol}", amount.replace('.', ",")),
    }
}

/// The smallest units in one unit, by decimals.
pub(crate) const SCALES: [u64; 4] = [1, 10, 100, 1_000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_with_the_decimals_of_their_currency() {
        assert_eq!(write_money(450, "GBP"), "4.50");
        assert_eq!(write_money(5, "EUR"), "0.05");
        assert_eq!(write_money(450, "JPY"), "450");
        assert_eq!(write_money(4_500, "KWD"), "4.500");
    }

    #[test]
    fn amounts_are_written_as_a_language_writes_them() {
        assert_eq!(units_in_language(450, "GBP", "en-GB"), "£4.50");
        assert_eq!(units_in_language(450, "EUR", "de"), "4,50\u{a0}€");
        assert_eq!(units_in_language(450, "CHF", "en"), "CHF\u{a0}4.50");
        assert_eq!(amount_in_language(1.005, "JPY", "en"), "¥1");
        assert_eq!(amount_in_language(-1.5, "USD", "en"), "−$1.50");
        assert_eq!(amount_in_language(1.5, "", "en"), "1.50");
    }
}
