//! The sentences of the page by name. The words of each language are in `texts/`, with what each is for in English.

use std::collections::BTreeMap;

/// The sentences in English.
pub(super) const ENGLISH: &str = include_str!("../../../texts/en.yaml");
/// The sentences in German.
pub(super) const GERMAN: &str = include_str!("../../../texts/de.yaml");

/// Declares the table, and lists what is in it.
macro_rules! words {
    ($($key:ident)*) => {
        /// The page's words in one language. `{…}` stands for a value that is filled in.
        #[derive(Debug)]
        pub struct Words {
            $(#[allow(missing_docs, reason = "the file says what each is for")] pub $key: &'static str,)*
        }

        impl Words {
            /// Returns the words of a language: its sentences, and those of another one for the rest.
            pub(super) fn of(own: &BTreeMap<String, String>, others: Option<&Words>) -> Self {
                let keep = |sentence: &String| &*Box::leak(sentence.clone().into_boxed_str());
                Self {
                    $($key: match (own.get(stringify!($key)), others) {
                        (Some(sentence), _) => keep(sentence),
                        (None, Some(others)) => others.$key,
                        (None, None) => "",
                    },)*
                }
            }

            /// Every sentence by its name.
            #[cfg(test)]
            pub(super) fn all(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($key), self.$key)),*]
            }
        }
    };
}

/// The sentences of a file: a name, a colon and a sentence in quotes on each line.
pub(super) fn read_sentences(file: &str) -> BTreeMap<String, String> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let sentences = lines.filter_map(|line| {
        let (name, sentence) = line.split_once(": ")?;
        let sentence = serde_json::from_str(sentence).ok()?;
        Some((name.to_owned(), sentence))
    });
    sentences.collect()
}

words! {
    language_name no_server reconnecting saving_paused not_taken wrong_code quiz_again last_attempt contact
    other_page open_other other_code other_link other_free code_there cannot withdraw withdraw_ask
    withdraw_means withdraw_same_pay withdraw_no_pay withdraw_other_pay withdraw_not untitled back_a_page next onward go_on_now agree disagree superseded space_key
    shift_key enter_key control_key loading linking ready ask_fullscreen fullscreen_left fullscreen get_ready
    finished one_moment waiting_for_server waiting_for_others lobby looking i_am_here come_back asked_title
    matched_title regroup regroup_group coming_back back back_to_place back_from_ai broken stopped no_module
    leave leave_asked go_on preview code copy copied next_person stay submit receipt pay back_to leaving
    unknown_link incomplete full old_page malformed stopping played partner_left technical nobody_fits
    one_more some_more waited few_seconds lately still_play wait_on then_on then_ai then_ask then_paid
    then_end still_there lost_place nobody_yet keep_waiting play_with_ai leave_paid and one_missing
    some_missing one_away some_away goes_on_by your_partner partner_within player withdrawn go_on_in attempt
    looked_away gone gone_play_on replaced returning is_back waiting_for not_heard held_hidden held_gone
    round_over next_round round_in round round_of score time partner partner_ai another_player two_players three_players many_players
    an_ai many_ais ai_as direct via_server partner_lost
    connecting moment elsewhere play_here cannot_go_on reload preparing controls progress_of languages
    required yes no answer_rows answer_this write_number write_email your_move others_move seat_own seat_given
    seat_corrected seat_hand_over seat_take_back seat_wait seat_proposals directive_ask directive_sent
    directive_refused frame frame_why frame_open
    frame_here frame_opened frame_waits frame_back frame_hands_in chat messages your_message send sending
    not_sent chat_not_yet chat_closed chat_lost chat_done chat_to_the_end to_game chat_keys you you_as
    chat_here chat_left chat_ai chat_with_ai data_here save_data send_again data_sending data_sent data_not_sent time_left form_time form_time_up one_character_left characters_left open_chat
    open_chat_one open_chat_some help help_one help_some help_title help_hint help_label help_close help_researchers
    help_sent help_read help_news help_open help_check help_answer help_your_answer help_answered help_missed checking checking_hint check_in_sight check_browser check_game
    check_connection check_picture lacking lacking_hint lacking_why check_again cannot_mend check_once
    check_more a_computer a_tablet a_phone or needs_device lacks_webrtc lacks_fullscreen lacks_audio
    lacks_keyboard lacks_touch needs_window this_window slow_connection needs_connection one_frame frames
    slow_picture needs_frames slow_game needs_step lacks_something open_on mend_touch mend_browser mend_window
    mend_screen mend_connection mend_speed mend_something decimal other none choose choose_answer range_from
    range_to slide no_order keep_order move_up move_down ranked number_from number_to one_character_least
    characters_least one_character_most characters_most no_digits check_writing choose_least choose_most
    choose_from choose_to check_others film_loading film_missing film_picture film_position film_play film_pause
    film_left film_right film_same film_watch_left film_choose_left film_rate_hint film_rate_left film_mark_begin
    film_mark_end film_mark_hint film_mark_show film_mark_label film_mark_remove film_marks_left
}
