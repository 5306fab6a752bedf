//! Help: the messages between the person and the researchers, on every page.

use super::App;

impl App {
    /// Shows how it stands.
    pub(super) fn show_help(&mut self, now_us: u64) {
        if self.page.is_stopped() {
            return self.layout.help.hide();
        }
        let is_connected = self.page.is_welcomed();
        let now = self.page.now(now_us);
        // Before, nobody knows how much time is left for an answer.
        if !now.is_set {
            return;
        }
        let server_us = now.server_us;
        if self.layout.help.is_read() && self.page.exchange().unread_count() > 0 {
            self.page
                .with_exchange(now_us, |exchange| exchange.mark_read());
        }
        let exchange = self.page.exchange();
        self.layout.help.show(server_us, exchange, is_connected);
    }

    /// The person writes to the researchers.
    pub(super) fn write_to_researchers(&mut self, now_us: u64) {
        if let Some(text) = self.layout.help.take_text() {
            self.page
                .with_exchange(now_us, |exchange| exchange.write(text));
        }
    }

    /// The person answers a question of the researchers.
    pub(super) fn answer_researchers(&mut self, now_us: u64) {
        if let Some((number, answer)) = self.layout.help.take_answer() {
            self.page
                .with_exchange(now_us, |exchange| exchange.answer(number, answer));
        }
    }
}
