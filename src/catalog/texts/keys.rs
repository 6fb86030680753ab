//! The list of all texts: one line each, with where it is shown, what the state it is said in proves, and its
//! placeholders (`"name"` must be in the text, `"name?"` may be).
//!
//! To add a text: one line here, one in each of `templates/texts/*.toml`.

/// Where a text is shown; each place has its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A message or part of one.
    Message,
    /// The answer to a tap.
    Tap,
    /// A button.
    Button,
}

/// What the state a text is said in proves, and so what the text may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// No state stands behind it: nothing may be claimed.
    Nothing,
    /// Confirmed and stored; not sent yet.
    Accepted,
    /// May be on the wire.
    Sending,
    /// Stored; the CRM cannot be reached.
    Waiting,
    /// The CRM may hold it.
    Unknown,
    /// A human must find out.
    Review,
    /// The CRM named the ticket.
    Created,
    /// Refused for good; nothing was made.
    Rejected,
    /// Called off before anything was sent.
    Cancelled,
    /// Said to staff, who are shown the evidence beside it.
    Free,
}

macro_rules! texts {
    ($($variant:ident = $section:literal . $name:literal, $place:ident, $proves:ident, [$($arg:literal),*];)*) => {
        /// One text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "a key's name says it; its words are in templates/texts")]
        pub enum Key { $($variant,)* }

        impl Key {
            /// Every key; a key's place here is its number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// `section.name`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => concat!($section, ".", $name),)* }
            }

            /// Section and name.
            #[must_use]
            pub fn split(self) -> (&'static str, &'static str) {
                match self { $(Self::$variant => ($section, $name),)* }
            }

            /// Its placeholders; one that ends with `?` may be left out.
            #[must_use]
            pub fn args(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($arg),*],)* }
            }

            /// Where it is shown.
            #[must_use]
            pub fn place(self) -> Place {
                match self { $(Self::$variant => Place::$place,)* }
            }

            /// What it may claim.
            #[must_use]
            pub fn proves(self) -> Proof {
                match self { $(Self::$variant => Proof::$proves,)* }
            }
        }
    };
}

texts! {
    // People who fill in a form.
    DialogWelcome = "dialog"."welcome", Message, Nothing, ["form", "intro?"];
    DialogChooseForm = "dialog"."choose_form", Message, Nothing, [];
    DialogAskOptionalHint = "dialog"."ask_optional_hint", Message, Nothing, [];
    DialogSkip = "dialog"."skip", Button, Nothing, [];
    DialogBack = "dialog"."back", Button, Nothing, [];
    DialogEdit = "dialog"."edit", Button, Nothing, [];
    DialogCancelButton = "dialog"."cancel_button", Button, Nothing, [];
    DialogShareContact = "dialog"."share_contact", Button, Nothing, [];
    DialogConsentYes = "dialog"."consent_yes", Button, Nothing, [];
    DialogConsentNo = "dialog"."consent_no", Button, Nothing, [];
    DialogConsentDeclined = "dialog"."consent_declined", Message, Nothing, [];
    DialogSummary = "dialog"."summary", Message, Nothing, ["lines"];
    DialogSubmitButton = "dialog"."submit_button", Button, Nothing, [];
    DialogEditWhich = "dialog"."edit_which", Message, Nothing, [];
    DialogDraftCancelled = "dialog"."draft_cancelled", Message, Cancelled, [];
    DialogDraftExpired = "dialog"."draft_expired", Message, Cancelled, [];
    DialogNothingOpen = "dialog"."nothing_open", Message, Nothing, [];
    DialogResume = "dialog"."resume", Message, Nothing, [];
    DialogHelp = "dialog"."help", Message, Nothing, [];
    DialogForgetDone = "dialog"."forget_done", Message, Nothing, [];
    DialogPhotoNotNeeded = "dialog"."photo_not_needed", Message, Nothing, [];
    DialogEditedIgnored = "dialog"."edited_ignored", Message, Nothing, [];
    DialogTooManyDrafts = "dialog"."too_many_drafts", Message, Nothing, [];
    DialogHourlyLimit = "dialog"."hourly_limit", Message, Nothing, [];
    DialogFrozen = "dialog"."frozen", Message, Accepted, ["marker"];
    DialogGroupHint = "dialog"."group_hint", Message, Nothing, ["link"];
    DialogUnknownCommand = "dialog"."unknown_command", Message, Nothing, [];
    DialogFormChanged = "dialog"."form_changed", Message, Nothing, [];
    DialogForwardedCommand = "dialog"."forwarded_command", Message, Nothing, [];
    DialogSummaryWaits = "dialog"."summary_waits", Message, Nothing, [];
    DialogNoted = "dialog"."noted", Message, Nothing, ["answer"];
    DialogNoPlaces = "dialog"."no_places", Message, Nothing, [];
    DialogForgetLater = "dialog"."forget_later", Message, Nothing, [];
    DialogStatusHead = "dialog"."status_head", Message, Nothing, [];
    DialogStatusNone = "dialog"."status_none", Message, Nothing, [];
    DialogStatusLine = "dialog"."status_line", Message, Nothing, ["form", "marker", "state"];

    // Why a reply is no answer.
    HintEmpty = "hint"."empty", Message, Nothing, [];
    HintInvisible = "hint"."invisible", Message, Nothing, [];
    HintTooShort = "hint"."too_short", Message, Nothing, ["min"];
    HintTooLong = "hint"."too_long", Message, Nothing, ["max", "got?"];
    HintNotAPhone = "hint"."not_a_phone", Message, Nothing, [];
    HintForeignContact = "hint"."foreign_contact", Message, Nothing, [];
    HintNotAnEmail = "hint"."not_an_email", Message, Nothing, [];
    HintNotAChoice = "hint"."not_a_choice", Message, Nothing, [];
    HintPressAButton = "hint"."press_a_button", Message, Nothing, [];
    HintTextWanted = "hint"."text_wanted", Message, Nothing, [];
    HintNotANumber = "hint"."not_a_number", Message, Nothing, [];
    HintOutOfRange = "hint"."out_of_range", Message, Nothing, ["min", "max"];
    HintNotADate = "hint"."not_a_date", Message, Nothing, [];
    HintCannotSkip = "hint"."cannot_skip", Message, Nothing, [];

    // Answers to taps.
    TapAccepted = "tap"."accepted", Tap, Accepted, [];
    TapSending = "tap"."sending", Tap, Sending, [];
    TapCreated = "tap"."created", Tap, Created, ["number"];
    TapReview = "tap"."review", Tap, Review, [];
    TapUnknown = "tap"."unknown", Tap, Unknown, [];
    TapWaitingCrm = "tap"."waiting_crm", Tap, Waiting, [];
    TapRejected = "tap"."rejected", Tap, Rejected, [];
    TapCancelled = "tap"."cancelled", Tap, Cancelled, [];
    TapStale = "tap"."stale", Tap, Nothing, [];
    TapForeign = "tap"."foreign", Tap, Nothing, [];
    TapExpired = "tap"."expired", Tap, Cancelled, [];
    TapFormChanged = "tap"."form_changed", Tap, Nothing, [];
    TapSlotTaken = "tap"."slot_taken", Tap, Nothing, [];
    TapChosen = "tap"."chosen", Tap, Nothing, [];
    TapGone = "tap"."gone", Tap, Nothing, [];
    TapNotAllowed = "tap"."not_allowed", Tap, Nothing, [];
    TapDone = "tap"."done", Tap, Nothing, [];

    // The status card of a submitted form.
    CardAccepted = "card"."accepted", Message, Accepted, ["marker"];
    CardSending = "card"."sending", Message, Sending, ["marker"];
    CardWaitingCrm = "card"."waiting_crm", Message, Waiting, ["marker"];
    CardUnknown = "card"."unknown", Message, Unknown, ["marker"];
    CardReview = "card"."review", Message, Review, ["marker"];
    CardCreated = "card"."created", Message, Created, ["number", "marker"];
    CardCreatedLink = "card"."created_link", Message, Created, ["url"];
    CardCopyNumber = "card"."copy_number", Button, Created, ["number"];
    CardRejected = "card"."rejected", Message, Rejected, ["reason", "marker"];
    CardRejectedStaff = "card"."rejected_staff", Message, Rejected, ["reason", "marker"];
    CardCancelled = "card"."cancelled", Message, Cancelled, ["marker"];

    // New messages to the requester.
    NoticeCreated = "notice"."created", Message, Created, ["number", "marker"];
    NoticeRejected = "notice"."rejected", Message, Rejected, ["reason"];

    // States in a few words: the list of /status, cards of staff.
    StatePending = "state"."pending", Message, Accepted, [];
    StateSending = "state"."sending", Message, Sending, [];
    StateUnknown = "state"."unknown", Message, Unknown, [];
    StateReview = "state"."review", Message, Review, [];
    StateCreated = "state"."created", Message, Created, ["number"];
    StateRejected = "state"."rejected", Message, Rejected, [];
    StateCancelled = "state"."cancelled", Message, Cancelled, [];

    // People who decide.
    StaffCase = "staff"."case", Message, Free, ["marker", "form", "age", "reason", "client", "sent?", "answer?"];
    StaffCaseSettled = "staff"."case_settled", Message, Free, ["marker", "state"];
    StaffQueueHead = "staff"."queue_head", Message, Free, ["count"];
    StaffQueueEmpty = "staff"."queue_empty", Message, Free, [];
    StaffQueueLine = "staff"."queue_line", Message, Free, ["marker", "age", "reason"];
    StaffButtonLook = "staff"."button_look", Button, Free, [];
    StaffButtonCreate = "staff"."button_create", Button, Free, [];
    StaffButtonReject = "staff"."button_reject", Button, Free, [];
    StaffButtonLink = "staff"."button_link", Button, Free, [];
    StaffUsageLink = "staff"."usage_link", Message, Free, [];
    StaffUsageLook = "staff"."usage_look", Message, Free, [];
    StaffUsageCreate = "staff"."usage_create", Message, Free, [];
    StaffUsageReject = "staff"."usage_reject", Message, Free, [];
    StaffNoSuchMarker = "staff"."no_such_marker", Message, Free, ["marker"];
    StaffManyMarkers = "staff"."many_markers", Message, Free, ["marker", "count"];
    StaffNotInReview = "staff"."not_in_review", Message, Free, ["marker", "state"];
    StaffDoneLink = "staff"."done_link", Message, Review, ["marker", "number"];
    StaffDoneUnchecked = "staff"."done_unchecked", Message, Created, ["marker", "number"];
    StaffDoneLook = "staff"."done_look", Message, Review, ["marker"];
    StaffDoneCreate = "staff"."done_create", Message, Review, ["marker"];
    StaffDoneReject = "staff"."done_reject", Message, Rejected, ["marker"];
    StaffTooLate = "staff"."too_late", Message, Free, ["marker", "state"];
    StaffLateTwin = "staff"."late_twin", Message, Free, ["marker", "number", "other"];
    StaffKeyDropped = "staff"."key_dropped", Message, Free, ["number"];
    StaffCrmRefusesUs = "staff"."crm_refuses_us", Message, Free, [];
    StaffButtonWhy = "staff"."button_why", Button, Free, [];
    StaffHintLink = "staff"."hint_link", Message, Free, ["marker"];
    StaffHintCreate = "staff"."hint_create", Message, Free, ["marker"];
    StaffHintReject = "staff"."hint_reject", Message, Free, ["marker"];
    StaffShelved = "staff"."shelved", Message, Free, ["row", "error"];
    StaffUndelivered = "staff"."undelivered", Message, Free, ["row", "kind", "why"];
    StaffNotYours = "staff"."not_yours", Message, Free, [];
    StaffOwnerOnly = "staff"."owner_only", Message, Free, [];
    StaffNoSearch = "staff"."no_search", Message, Free, [];
    StaffReasonWanted = "staff"."reason_wanted", Message, Free, [];
    StaffAlreadyLinked = "staff"."already_linked", Message, Free, ["number", "marker"];
    StaffPaused = "staff"."paused", Message, Free, [];
    StaffResumed = "staff"."resumed", Message, Free, [];
    StaffShelfEmpty = "staff"."shelf_empty", Message, Free, [];
    StaffShelfLine = "staff"."shelf_line", Message, Free, ["row", "age", "error"];
    StaffReplayed = "staff"."replayed", Message, Free, ["row"];
    StaffNoSuchRow = "staff"."no_such_row", Message, Free, ["row"];
    StaffWhyHead = "staff"."why_head", Message, Free, ["marker", "state"];
    StaffMore = "staff"."more", Message, Free, ["count"];
    StaffHelp = "staff"."help", Message, Free, [];

    // What a command does, in the menu.
    MenuStart = "menu"."start", Message, Nothing, [];
    MenuNew = "menu"."new", Message, Nothing, [];
    MenuStatus = "menu"."status", Message, Nothing, [];
    MenuCancel = "menu"."cancel", Message, Nothing, [];
    MenuHelp = "menu"."help", Message, Nothing, [];
    MenuForget = "menu"."forget", Message, Nothing, [];
    MenuQueue = "menu"."queue", Message, Free, [];
    MenuLink = "menu"."link", Message, Free, [];
    MenuLook = "menu"."look", Message, Free, [];
    MenuCreate = "menu"."create", Message, Free, [];
    MenuReject = "menu"."reject", Message, Free, [];
    MenuShow = "menu"."show", Message, Free, [];
    MenuWhy = "menu"."why", Message, Free, [];
    MenuPause = "menu"."pause", Message, Free, [];
    MenuResume = "menu"."resume", Message, Free, [];
    MenuShelf = "menu"."shelf", Message, Free, [];
    MenuReplay = "menu"."replay", Message, Free, [];

    // How long ago.
    AgeSeconds = "age"."seconds", Message, Nothing, ["n"];
    AgeMinutes = "age"."minutes", Message, Nothing, ["n"];
    AgeHours = "age"."hours", Message, Nothing, ["n"];
    AgeDays = "age"."days", Message, Nothing, ["n"];

    // Why a case stands before a human.
    ReasonBlind = "reason"."blind", Message, Review, [];
    ReasonAbsent = "reason"."absent", Message, Review, [];
    ReasonCrmSilent = "reason"."crm_silent", Message, Review, [];
    ReasonSeveral = "reason"."several", Message, Review, ["numbers?"];
    ReasonExistsUnseen = "reason"."exists_unseen", Message, Review, [];
    ReasonKeyExpired = "reason"."key_expired", Message, Review, [];
    ReasonNeverSent = "reason"."never_sent", Message, Free, [];
    ReasonNotResent = "reason"."not_resent", Message, Review, [];
    ReasonBadNumber = "reason"."bad_number", Message, Review, ["number"];
    ReasonForeignNumber = "reason"."foreign_number", Message, Review, ["number"];
    ReasonUnchecked = "reason"."unchecked", Message, Review, ["number"];
}
