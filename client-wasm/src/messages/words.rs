//! The sentences of the page, in every language that it speaks: what each is for here, the words in a file each.

mod de;
mod en;

pub(super) use de::DE;
pub(super) use en::EN;

/// Declares the table, and lists what is in it.
macro_rules! words {
    ($($(#[$doc:meta])* $key:ident,)*) => {
        /// The page's words in one language. `{…}` stands for a value that is filled in.
        #[derive(Debug)]
        pub struct Words {
            $($(#[$doc])* pub $key: &'static str,)*
        }

        impl Words {
            /// Every sentence by its name.
            #[cfg(test)]
            pub(super) fn all(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($key), self.$key)),*]
            }
        }
    };
}

words! {
    /// The server has not answered since the page was opened.
    no_server,
    /// The connection was lost on a page where it is needed.
    reconnecting,
    /// The connection was lost during a match.
    saving_paused,
    /// The server refused the answers.
    not_taken,
    /// The answers to a quiz were not all right, and there is another attempt.
    quiz_again,
    /// The answers to a quiz are given for the last time.
    last_attempt,
    /// Before the address of those to write to.
    contact,
    /// The heading of the page beside a page of another site.
    other_page,
    /// The link to it.
    open_other,
    /// It gives a code.
    other_code,
    /// It leads back.
    other_link,
    /// One comes back alone.
    other_free,
    /// The field for its code.
    code_there,
    /// The button of those who give up.
    cannot,
    /// The button of those who withdraw.
    withdraw,
    /// The heading of the question before that.
    withdraw_ask,
    /// The consequences of a withdrawal.
    withdraw_means,
    /// The button of those who do not.
    withdraw_not,
    /// The heading of questions that have none.
    untitled,
    /// The button that goes a page back.
    back_a_page,
    /// The button that goes to the next page.
    next,
    /// The button that goes to the next stage.
    onward,
    /// The page can be left now, after it could not be.
    go_on_now,
    /// The button of those who agree.
    agree,
    /// The button of those who do not agree.
    disagree,
    /// A newer page of this session plays on.
    superseded,
    /// The key that makes a blank.
    space_key,
    /// The key that makes capital letters.
    shift_key,
    /// The key that ends a line.
    enter_key,
    /// The key of shortcuts.
    control_key,
    /// The environment is on its way here.
    loading,
    /// Ways to the others are looked for.
    linking,
    /// This page is ready, others are not.
    ready,
    /// The page may fill the screen.
    ask_fullscreen,
    /// The page does not fill the screen any more.
    fullscreen_left,
    /// The button to fill the screen.
    fullscreen,
    /// The episode is about to start.
    get_ready,
    /// The episode has ended here, and the server has not said so yet.
    finished,
    /// The next stage is on its way here.
    one_moment,
    /// The world waits for what only the server can say.
    waiting_for_server,
    /// The world waits for several people who are all there.
    waiting_for_others,
    /// The heading of a lobby.
    lobby,
    /// The server has not yet said who is in the lobby.
    looking,
    /// Answers whether somebody is there.
    i_am_here,
    /// Goes back to the lobby.
    come_back,
    /// The title of a page out of sight that asks something.
    asked_title,
    /// The title of a page out of sight whose partners are here.
    matched_title,
    /// Others of the group have not come to this stage yet.
    regroup,
    /// The person of this page is about to play again.
    coming_back,
    /// The person of this page plays again.
    back,
    /// The person of this page plays again; nobody did meanwhile.
    back_to_place,
    /// The person of this page plays again.
    back_from_ai,
    /// The page failed.
    broken,
    /// The environment broke down in the middle of an episode.
    stopped,
    /// The environment could not be loaded.
    no_module,
    /// The button of those who want to leave.
    leave,
    /// Asks whether somebody really wants to leave.
    leave_asked,
    /// The button of those who stay.
    go_on,
    /// A person only looks at what the work would be.
    preview,
    /// Names the completion code.
    code,
    /// The button that copies the code.
    copy,
    /// The code was copied.
    copied,
    /// The button of the next person at the same computer.
    next_person,
    /// The button of those who want to read on.
    stay,
    /// The button that hands the work in.
    submit,
    /// The number of a visit.
    receipt,
    /// The payment.
    pay,
    /// The button that leads back to whoever sent the participant.
    back_to,
    /// The page is about to lead away.
    leaving,
    /// [`Refusal::UnknownLink`](protocol::control::Refusal::UnknownLink).
    unknown_link,
    /// The link lacks what names the person.
    incomplete,
    /// The study has no room now.
    full,
    /// The page is older than the server.
    old_page,
    /// The server could not read what the page said.
    malformed,
    /// The server restarts.
    stopping,
    /// The end of an episode that was played.
    played,
    /// The end of an episode that a partner left.
    partner_left,
    /// The end of an episode that broke.
    technical,
    /// Somebody has lost their place in the lobby.
    not_waiting,
    /// Enough people wait, but they do not fit together.
    nobody_fits,
    /// One person is still needed.
    one_more,
    /// Several people are still needed.
    some_more,
    /// The time somebody has waited.
    waited,
    /// The usual time, if it is short.
    few_seconds,
    /// The usual time.
    lately,
    /// The place of somebody in the lobby is another's.
    place_given,
    /// The choice of what to do need not be made at once.
    still_play,
    /// Nothing happens but that somebody comes.
    wait_on,
    /// At the timeout of a lobby the next stage comes.
    then_on,
    /// At the timeout of a lobby an AI partner comes.
    then_ai,
    /// At the timeout of a lobby there is a choice.
    then_ask,
    /// At the timeout of a lobby the study ends, and the time is paid.
    then_paid,
    /// At the timeout of a lobby the study ends.
    then_end,
    /// Asks whether somebody is there.
    still_there,
    /// Somebody was asked and did not answer.
    lost_place,
    /// Asks what to do when nobody came.
    nobody_yet,
    /// The choice to wait.
    keep_waiting,
    /// The choice of an AI partner.
    play_with_ai,
    /// The choice to leave, where the time is paid.
    leave_paid,
    /// Between the last two names of a list.
    and,
    /// One of the group is not there yet.
    one_missing,
    /// Several of the group are not there yet.
    some_missing,
    /// One of the group is away.
    one_away,
    /// Several of the group are away.
    some_away,
    /// The time left to wait for the others of the group.
    goes_on_by,
    /// The only other person, at the start of a sentence.
    your_partner,
    /// The only other person, within a sentence.
    partner_within,
    /// One of several other people.
    player,
    /// The receipt of those who withdrew.
    withdrawn,
    /// The page can be left in a while.
    go_on_in,
    /// The number of the attempt at a quiz.
    attempt,
    /// Somebody's page is out of sight.
    looked_away,
    /// Somebody's page is gone.
    gone,
    /// Somebody's page is gone, and the world goes on.
    gone_play_on,
    /// An AI partner has somebody's seat.
    replaced,
    /// Somebody is about to play again.
    returning,
    /// Somebody plays again.
    is_back,
    /// The world waits for somebody who is there and heard.
    waiting_for,
    /// The world waits for somebody who is there and not heard.
    not_heard,
    /// The world waits for somebody whose page is out of sight.
    held_hidden,
    /// The world waits for somebody whose page is gone.
    held_gone,
    /// The end of a round, during a rest.
    round_over,
    /// The button that ends a rest.
    next_round,
    /// A rest ends by itself.
    round_in,
    /// Names the number of the round.
    round,
    /// The number of the round.
    round_of,
    /// Names the score.
    score,
    /// Names the time left.
    time,
    /// A partner, beside the picture.
    partner,
    /// An AI partner, beside the picture.
    partner_ai,
    /// Packets travel straight to the partner.
    direct,
    /// Packets travel through the server.
    via_server,
    /// Nothing comes from the partner.
    partner_lost,
    /// The page has not been let in yet.
    connecting,
    /// The heading of a page that is there for a moment.
    moment,
    /// The heading of a page whose study goes on elsewhere.
    elsewhere,
    /// The button that takes the study back.
    play_here,
    /// The heading of a page that is refused.
    cannot_go_on,
    /// The button that loads the page again.
    reload,
    /// The next episode is on its way.
    preparing,
    /// Names the buttons to touch.
    controls,
    /// The progress on the way.
    progress_of,
    /// Names the other languages.
    languages,
    /// A question must be answered.
    required,
    /// An answer.
    yes,
    /// An answer.
    no,
    /// A matrix has rows without an answer.
    answer_rows,
    /// A question has no answer.
    answer_this,
    /// A number is asked.
    write_number,
    /// An address is asked.
    write_email,
    /// The world stands still until the person acts.
    your_move,
    /// The heading of a page in a frame of another site.
    frame,
    /// Why it opens one.
    frame_why,
    /// The button that opens it.
    frame_open,
    /// The button of those who want no other window.
    frame_here,
    /// The heading while it is open.
    frame_opened,
    /// The study goes on in its window, and the frame after it.
    frame_waits,
    /// The button of those who closed it.
    frame_back,
    /// Said at the end in the window, whose work is handed in by the frame.
    frame_hands_in,
    /// The heading of a chat.
    chat,
    /// The name of the messages for screen readers.
    messages,
    /// The label of the field for one's own.
    your_message,
    /// The button that sends it.
    send,
    /// A message is on its way.
    sending,
    /// A message was not taken.
    not_sent,
    /// The chat has not begun.
    chat_not_yet,
    /// Nobody writes any more.
    chat_closed,
    /// The connection is lost during a chat.
    chat_lost,
    /// The button that leaves a chat.
    chat_done,
    /// Nobody can leave a chat before the time is up.
    chat_to_the_end,
    /// The button that leads from the chat to the game.
    to_game,
    /// The keys that lead from one to the other.
    chat_keys,
    /// The person of this page, in a chat.
    you,
    /// The person of this page, by the name that the study gives.
    you_as,
    /// Somebody can write.
    chat_here,
    /// Somebody has left a chat.
    chat_left,
    /// One of several in a chat is an AI partner.
    chat_ai,
    /// The only other one in a chat is an AI partner.
    chat_with_ai,
    /// The time left of a chat.
    time_left,
    /// The number of characters left to write.
    one_character_left,
    /// The number of characters left to write.
    characters_left,
    /// The button that opens the chat.
    open_chat,
    /// The same, with a new message.
    open_chat_one,
    /// The same, with several new messages.
    open_chat_some,
    /// The heading while device and connection are measured.
    checking,
    /// The person's part meanwhile.
    checking_hint,
    /// The page is out of sight, so nothing can be measured.
    check_in_sight,
    /// The first check.
    check_browser,
    /// A check in between.
    check_game,
    /// A check in between.
    check_connection,
    /// The last check.
    check_picture,
    /// The heading if something is lacking.
    lacking,
    /// Before what is lacking.
    lacking_hint,
    /// Before what is lacking, on the last page.
    lacking_why,
    /// The button of those who have mended it.
    check_again,
    /// The button of those who cannot.
    cannot_mend,
    /// There is one more attempt.
    check_once,
    /// There are several more attempts.
    check_more,
    /// A device, as it is needed and as the link is opened on it.
    a_computer,
    /// A device.
    a_tablet,
    /// A device.
    a_phone,
    /// Between two devices.
    or,
    /// The device that is needed.
    needs_device,
    /// The browser cannot do it.
    lacks_webrtc,
    /// The browser cannot do it.
    lacks_fullscreen,
    /// The browser cannot do it.
    lacks_audio,
    /// There is no keyboard.
    lacks_keyboard,
    /// There is no screen to touch.
    lacks_touch,
    /// The size that the window must have.
    needs_window,
    /// The size that it has.
    this_window,
    /// The connection is too slow.
    slow_connection,
    /// The speed that is needed.
    needs_connection,
    /// The number of frames a second.
    one_frame,
    /// The number of frames a second.
    frames,
    /// The picture is too slow.
    slow_picture,
    /// The speed that is needed.
    needs_frames,
    /// The game is too slow.
    slow_game,
    /// The speed that is needed.
    needs_step,
    /// The study does not say what is lacking.
    lacks_something,
    /// The remedy: another device.
    open_on,
    /// The remedy: a screen to touch.
    mend_touch,
    /// The remedy: another browser.
    mend_browser,
    /// The remedy: a larger window.
    mend_window,
    /// The remedy where the window is the screen.
    mend_screen,
    /// The remedy: a faster connection.
    mend_connection,
    /// The remedy: a faster device.
    mend_speed,
    /// A remedy that may help.
    mend_something,
    /// The sign before the decimals of a number.
    decimal,
    /// The choice of a text of one's own.
    other,
    /// The choice that no other one goes with.
    none,
    /// A list in which nothing is chosen yet.
    choose,
    /// An answer is none of those there are.
    choose_answer,
    /// The lower one of two sliders.
    range_from,
    /// The upper one of two sliders.
    range_to,
    /// A slider was not touched yet.
    slide,
    /// A list was not put in order yet.
    no_order,
    /// The button of those whose order it is already.
    keep_order,
    /// Moves a choice up.
    move_up,
    /// Moves a choice down.
    move_down,
    /// The place of a choice now.
    ranked,
    /// A number is too small.
    number_from,
    /// A number is too large.
    number_to,
    /// A text is empty but for blanks.
    one_character_least,
    /// A text is too short.
    characters_least,
    /// A text is too long.
    one_character_most,
    /// A text is too long.
    characters_most,
    /// A text has digits.
    no_digits,
    /// A text is not written as it should be.
    check_writing,
    /// There are too few choices.
    choose_least,
    /// There are too many choices.
    choose_most,
    /// A date or time is too early.
    choose_from,
    /// A date or time is too late.
    choose_to,
    /// An answer contradicts others.
    check_others,
}
