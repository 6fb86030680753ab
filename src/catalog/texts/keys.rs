//! The list of all texts: one line each, with where it is shown, what the state it is said in proves, and its
//! placeholders (`"name"` must be in the text, `"name?"` may be). To add a text: one line here, one in each of
//! `templates/texts/*.toml`.

use super::shape::{Place, Proof, texts};

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
    DialogOtherOpen = "dialog"."other_open", Message, Cancelled, [];
    DialogSteppedBack = "dialog"."stepped_back", Message, Nothing, [];
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
    DialogWeWereAway = "dialog"."we_were_away", Message, Nothing, [];
    DialogNoted = "dialog"."noted", Message, Nothing, ["answer"];
    DialogNoPlaces = "dialog"."no_places", Message, Nothing, [];
    DialogForgetLater = "dialog"."forget_later", Message, Nothing, [];
    DialogFilesHow = "dialog"."files_how", Message, Nothing, ["max"];
    DialogFilesSoFar = "dialog"."files_so_far", Message, Nothing, ["count", "max", "names"];
    DialogFilesNone = "dialog"."files_none", Message, Nothing, [];
    DialogFilesListed = "dialog"."files_listed", Message, Nothing, ["count", "names"];
    DialogFilesDone = "dialog"."files_done", Button, Nothing, [];
    DialogFilePhoto = "dialog"."file_photo", Message, Nothing, [];
    DialogFileImages = "dialog"."file_images", Message, Nothing, [];
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
    HintFilesWanted = "hint"."files_wanted", Message, Nothing, [];
    HintFileTooLarge = "hint"."file_too_large", Message, Nothing, ["max"];
    HintFileType = "hint"."file_type", Message, Nothing, ["types"];
    HintTooManyFiles = "hint"."too_many_files", Message, Nothing, ["max"];
    HintCannotSkip = "hint"."cannot_skip", Message, Nothing, [];

    // What a ticket's text and its history say of files.
    TicketFileLeftOut = "ticket"."file_left_out", Message, Free, ["name", "reason"];
    TicketFileNotTaken = "ticket"."file_not_taken", Message, Free, [];
    TicketFileTooMany = "ticket"."file_too_many", Message, Free, [];
    TicketFileTooLarge = "ticket"."file_too_large", Message, Free, [];
    TicketFileWrongType = "ticket"."file_wrong_type", Message, Free, [];
    TicketFileGone = "ticket"."file_gone", Message, Free, [];
    TicketFileUnreachable = "ticket"."file_unreachable", Message, Free, [];
    TicketFileRefused = "ticket"."file_refused", Message, Free, [];
    TicketFileUnsure = "ticket"."file_unsure", Message, Free, [];

    // Answers to taps.
    TapAccepted = "tap"."accepted", Tap, Accepted, [];
    TapSending = "tap"."sending", Tap, Sending, [];
    TapCreated = "tap"."created", Tap, Created, ["number"];
    TapReview = "tap"."review", Tap, Review, [];
    TapUnknown = "tap"."unknown", Tap, Unknown, [];
    TapWaitingCrm = "tap"."waiting_crm", Tap, Waiting, [];
    TapAcceptedPaused = "tap"."accepted_paused", Tap, Waiting, [];
    TapPaused = "tap"."paused", Tap, Waiting, [];
    TapRejected = "tap"."rejected", Tap, Rejected, [];
    TapCancelled = "tap"."cancelled", Tap, Cancelled, [];
    TapStale = "tap"."stale", Tap, Nothing, [];
    TapForeign = "tap"."foreign", Tap, Nothing, [];
    TapExpired = "tap"."expired", Tap, Cancelled, [];
    TapFormChanged = "tap"."form_changed", Tap, Nothing, [];
    TapAnswerFirst = "tap"."answer_first", Tap, Nothing, [];
    TapSlotTaken = "tap"."slot_taken", Tap, Nothing, [];
    TapChosen = "tap"."chosen", Tap, Nothing, [];
    TapGone = "tap"."gone", Tap, Nothing, [];
    TapNotAllowed = "tap"."not_allowed", Tap, Nothing, [];
    TapDone = "tap"."done", Tap, Nothing, [];

    // The status card of a submitted form.
    CardAccepted = "card"."accepted", Message, Accepted, ["marker"];
    CardSending = "card"."sending", Message, Sending, ["marker"];
    CardWaitingCrm = "card"."waiting_crm", Message, Waiting, ["marker"];
    CardPaused = "card"."paused", Message, Waiting, ["marker"];
    CardUnknown = "card"."unknown", Message, Unknown, ["marker"];
    CardReview = "card"."review", Message, Review, ["marker"];
    CardCreated = "card"."created", Message, Created, ["number", "marker"];
    // The one text that may be empty: most CRMs' pages are for staff alone.
    CardCreatedLink = "card"."created_link", Message, Created, ["url?"];
    CardCopyNumber = "card"."copy_number", Button, Created, ["number"];
    CardRejected = "card"."rejected", Message, Rejected, ["reason", "marker"];
    CardRejectedStaff = "card"."rejected_staff", Message, Rejected, ["reason", "marker"];
    CardCancelled = "card"."cancelled", Message, Cancelled, ["marker"];

    // New messages to the requester.
    NoticeCreated = "notice"."created", Message, Created, ["number", "marker"];
    NoticeRejected = "notice"."rejected", Message, Rejected, ["reason"];
    NoticeWaitingReview = "notice"."waiting_review", Message, Review, ["marker"];
    NoticeWaitingCrm = "notice"."waiting_crm", Message, Waiting, ["marker"];
    NoticeWaitingUnknown = "notice"."waiting_unknown", Message, Unknown, ["marker"];

    // States in a few words: the list of /status, cards of staff.
    StatePending = "state"."pending", Message, Accepted, [];
    StateSending = "state"."sending", Message, Sending, [];
    StateUnknown = "state"."unknown", Message, Unknown, [];
    StateReview = "state"."review", Message, Review, [];
    StateCreated = "state"."created", Message, Created, ["number"];
    StateRejected = "state"."rejected", Message, Rejected, [];
    StateCancelled = "state"."cancelled", Message, Cancelled, [];

    // People who decide.
    StaffCase = "staff"."case", Message, Free, ["marker", "form", "age", "since?", "opened?", "opened_at?", "reason", "client", "sent?", "answer?"];
    StaffCaseSettled = "staff"."case_settled", Message, Free, ["marker", "state"];
    StaffCaseDecided = "staff"."case_decided", Message, Free, ["name", "what"];
    StaffQueueHead = "staff"."queue_head", Message, Free, ["count"];
    StaffQueueEmpty = "staff"."queue_empty", Message, Free, [];
    StaffQueueLine = "staff"."queue_line", Message, Free, ["marker", "age", "reason"];
    StaffButtonLook = "staff"."button_look", Button, Free, [];
    StaffButtonCreate = "staff"."button_create", Button, Free, [];
    StaffButtonReject = "staff"."button_reject", Button, Free, [];
    StaffButtonLink = "staff"."button_link", Button, Free, [];
    StaffUsageLink = "staff"."usage_link", Message, Free, [];
    StaffNotANumber = "staff"."not_a_number", Message, Free, ["number", "usage"];
    StaffUsageLook = "staff"."usage_look", Message, Free, [];
    StaffUsageCreate = "staff"."usage_create", Message, Free, [];
    StaffUsageReject = "staff"."usage_reject", Message, Free, [];
    StaffNoSuchMarker = "staff"."no_such_marker", Message, Free, ["marker"];
    StaffManyMarkers = "staff"."many_markers", Message, Free, ["marker", "count?", "list?"];
    StaffNotInReview = "staff"."not_in_review", Message, Free, ["marker", "state"];
    StaffDoneLink = "staff"."done_link", Message, Review, ["marker", "number"];
    StaffDoneKeyless = "staff"."done_keyless", Message, Review, ["marker", "number"];
    StaffDoneUnchecked = "staff"."done_unchecked", Message, Created, ["marker", "number"];
    StaffDoneLook = "staff"."done_look", Message, Review, ["marker"];
    StaffDoneCreate = "staff"."done_create", Message, Review, ["marker"];
    StaffDoneCreatePlain = "staff"."done_create_plain", Message, Review, ["marker"];
    StaffDoneCreateUnseen = "staff"."done_create_unseen", Message, Review, ["marker"];
    StaffDoneReject = "staff"."done_reject", Message, Rejected, ["marker"];
    StaffTooLate = "staff"."too_late", Message, Free, ["marker", "state"];
    StaffKeyUnseen = "staff"."key_unseen", Message, Free, ["number"];
    StaffKeyDropped = "staff"."key_dropped", Message, Free, ["number"];
    StaffTopicGone = "staff"."topic_closed", Message, Free, ["chat", "thread"];
    StaffCrmRefusesUs = "staff"."crm_refuses_us", Message, Free, [];
    StaffButtonWhy = "staff"."button_why", Button, Free, [];
    StaffNotYours = "staff"."not_yours", Message, Free, [];
    StaffOwnerOnly = "staff"."owner_only", Message, Free, [];
    StaffNoSearch = "staff"."no_search", Message, Free, [];
    StaffReasonWanted = "staff"."reason_wanted", Message, Free, [];
    StaffReasonTooLong = "staff"."reason_too_long", Message, Free, ["max", "got"];
    StaffAlreadyLinked = "staff"."already_linked", Message, Free, ["number", "marker"];
    StaffPaused = "staff"."paused", Message, Free, [];
    StaffResumed = "staff"."resumed", Message, Free, [];
    StaffShelfEmpty = "staff"."shelf_empty", Message, Free, [];
    StaffShelfLine = "staff"."shelf_line", Message, Free, ["row", "age", "error"];
    StaffShelfMore = "staff"."shelf_more", Message, Free, ["shown"];
    StaffReplayed = "staff"."replayed", Message, Free, ["row"];
    StaffNoSuchRow = "staff"."no_such_row", Message, Free, ["row"];
    StaffWhyHead = "staff"."why_head", Message, Free, ["marker", "state"];
    StaffMore = "staff"."more", Message, Free, ["count"];
    StaffHelp = "staff"."help", Message, Free, ["commands"];
    StaffCaseCandidates = "staff"."case_candidates", Message, Free, ["list"];
    StaffCaseTaken = "staff"."case_taken", Message, Free, ["name", "until"];
    StaffCaseAsked = "staff"."case_asked", Message, Free, ["name", "reason"];
    StaffCaseUndelivered = "staff"."case_undelivered", Message, Free, ["case", "reason", "state", "client", "age", "since?"];
    StaffCaseUnheard = "staff"."case_unheard", Message, Free, ["case", "reason", "client?", "age", "since?"];
    StaffCaseShelved = "staff"."case_shelved", Message, Free, ["case", "reason", "row", "age", "since?"];
    StaffCaseTwin = "staff"."case_twin", Message, Free, ["case", "reason", "form", "client", "age", "since?"];
    StaffCaseClosed = "staff"."case_closed", Message, Free, ["case", "how", "name"];
    StaffCaseClosedItself = "staff"."case_closed_itself", Message, Free, ["case"];
    StaffAttemptLine = "staff"."attempt_line", Message, Free, ["n", "time", "outcome"];
    StaffButtonTake = "staff"."button_take", Button, Free, [];
    StaffButtonHandBack = "staff"."button_hand_back", Button, Free, [];
    StaffButtonSendAgain = "staff"."button_send_again", Button, Free, [];
    StaffButtonLetGo = "staff"."button_let_go", Button, Free, [];
    StaffButtonReplay = "staff"."button_replay", Button, Free, [];
    StaffButtonSettled = "staff"."button_settled", Button, Free, [];
    StaffButtonCancel = "staff"."button_cancel", Button, Free, [];
    StaffButtonSure = "staff"."button_sure", Button, Free, [];
    StaffButtonConsent = "staff"."button_consent", Button, Free, [];
    StaffButtonUnchecked = "staff"."button_unchecked", Button, Free, [];
    StaffButtonKeyless = "staff"."button_keyless", Button, Free, [];
    StaffButtonNewer = "staff"."button_newer", Button, Free, [];
    StaffButtonOlder = "staff"."button_older", Button, Free, [];
    StaffDoneTake = "staff"."done_take", Message, Free, ["case", "until"];
    StaffDoneHandBack = "staff"."done_hand_back", Message, Free, ["case"];
    StaffDoneSendAgain = "staff"."done_send_again", Message, Free, ["case"];
    StaffDoneTwin = "staff"."done_twin", Message, Free, ["case"];
    StaffDoneLetGo = "staff"."done_let_go", Message, Free, ["case"];
    StaffDoneReplay = "staff"."done_replay", Message, Free, ["case"];
    StaffDoneAsked = "staff"."done_asked", Message, Free, ["case"];
    StaffAlreadyYours = "staff"."already_yours", Message, Free, ["case"];
    StaffHeld = "staff"."held", Message, Free, ["case", "name", "until"];
    StaffDecidedBy = "staff"."decided_by", Message, Free, ["case", "name", "what", "state"];
    StaffChanged = "staff"."changed", Message, Free, ["case"];
    StaffNotThis = "staff"."not_this", Message, Free, ["case"];
    StaffNotTaken = "staff"."not_taken", Message, Free, ["case"];
    StaffClientAway = "staff"."client_away", Message, Free, ["case"];
    StaffNeedsAnother = "staff"."needs_another", Message, Free, ["case"];
    StaffCheckFirst = "staff"."check_first", Message, Free, ["number"];
    StaffUncheckedHint = "staff"."unchecked_hint", Message, Free, ["case", "number"];
    StaffLinkedElsewhere = "staff"."linked_elsewhere", Message, Free, ["number", "other", "marker"];
    StaffAskNumber = "staff"."ask_number", Message, Free, ["name", "case"];
    StaffAskNumberAgain = "staff"."ask_number_again", Message, Free, ["name", "case"];
    StaffAskCreate = "staff"."ask_create", Message, Free, ["name", "case", "risk"];
    StaffAskSure = "staff"."ask_sure", Message, Free, ["name", "case", "risk", "reason"];
    StaffAskReject = "staff"."ask_reject", Message, Free, ["name", "case"];
    StaffAskUnchecked = "staff"."ask_unchecked", Message, Free, ["name", "case", "number"];
    StaffAskBelow = "staff"."ask_below", Message, Free, [];
    StaffAskOver = "staff"."ask_over", Message, Free, [];
    StaffAskForeign = "staff"."ask_foreign", Message, Free, [];
    StaffAskCancelled = "staff"."ask_cancelled", Message, Free, ["name"];
    StaffRiskMayExist = "staff"."risk_may_exist", Message, Free, [];
    StaffRiskUnseen = "staff"."risk_unseen", Message, Free, [];
    StaffRiskNone = "staff"."risk_none", Message, Free, [];
    StaffReadyCreate1 = "staff"."ready_create_1", Button, Free, [];
    StaffReadyCreate2 = "staff"."ready_create_2", Button, Free, [];
    StaffReadyReject1 = "staff"."ready_reject_1", Button, Free, [];
    StaffReadyReject2 = "staff"."ready_reject_2", Button, Free, [];
    StaffReadyReject3 = "staff"."ready_reject_3", Button, Free, [];
    StaffQueueTaken = "staff"."queue_taken", Message, Free, ["name"];
    StaffQueueNothing = "staff"."queue_nothing", Message, Free, [];
    StaffUsageQueue = "staff"."usage_queue", Message, Free, ["words"];
    StaffOneAtATime = "staff"."one_at_a_time", Message, Free, ["rest", "usage"];
    StaffUsageTake = "staff"."usage_take", Message, Free, [];
    StaffUsageShow = "staff"."usage_show", Message, Free, [];
    StaffUsageResend = "staff"."usage_resend", Message, Free, [];
    StaffUsageReplay = "staff"."usage_replay", Message, Free, [];
    StaffUsageFind = "staff"."usage_find", Message, Free, [];
    StaffNoSuchCase = "staff"."no_such_case", Message, Free, ["case"];
    StaffFindNone = "staff"."find_none", Message, Free, ["text"];
    StaffFindMore = "staff"."find_more", Message, Free, ["shown"];
    StaffFindLine = "staff"."find_line", Message, Free, ["marker", "state", "form", "client", "age"];
    StaffStats = "staff"."stats", Message, Free, ["since", "confirmed", "tickets", "repeats", "unknown", "found", "answered", "by_staff", "rejected", "open", "median", "worst", "queue", "oldest"];
    StaffRemind = "staff"."remind", Message, Free, ["names", "count", "lines"];
    StaffEscalate = "staff"."escalate", Message, Free, ["count", "lines"];

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
    MenuTake = "menu"."take", Message, Free, [];
    MenuHandBack = "menu"."hand_back", Message, Free, [];
    MenuResend = "menu"."resend", Message, Free, [];
    MenuLetGo = "menu"."let_go", Message, Free, [];
    MenuFind = "menu"."find", Message, Free, [];
    MenuStats = "menu"."stats", Message, Free, [];

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
    ReasonRefusedRepeat = "reason"."refused_repeat", Message, Review, ["message"];
    ReasonKeyExpired = "reason"."key_expired", Message, Review, [];
    ReasonNeverSent = "reason"."never_sent", Message, Free, [];
    ReasonNotResent = "reason"."not_resent", Message, Review, [];
    ReasonUnfit = "reason"."unfit", Message, Review, [];
    ReasonBadNumber = "reason"."bad_number", Message, Review, ["number"];
    ReasonForeignNumber = "reason"."foreign_number", Message, Review, ["number"];
    ReasonUnchecked = "reason"."unchecked", Message, Review, ["number"];
    ReasonKeyless = "reason"."keyless", Message, Review, ["number"];
    ReasonTwin = "reason"."twin", Message, Free, ["numbers"];
    ReasonTwinOfRejected = "reason"."twin_of_rejected", Message, Free, ["numbers"];
    ReasonUndelivered = "reason"."undelivered", Message, Free, ["kind", "why"];
    ReasonUndeliveredUnknown = "reason"."undelivered_unknown", Message, Free, ["kind"];
    ReasonShelved = "reason"."shelved", Message, Free, ["error"];

    // What stood in a message's way.
    HindranceClientAway = "hindrance"."client_away", Message, Free, [];
    HindranceChatRefused = "hindrance"."chat_refused", Message, Free, [];
    HindranceContentRefused = "hindrance"."content_refused", Message, Free, [];
    HindranceTextTooLong = "hindrance"."text_too_long", Message, Free, [];
    HindranceTextEmpty = "hindrance"."text_empty", Message, Free, [];
    HindranceTooManyButtons = "hindrance"."too_many_buttons", Message, Free, [];
    HindranceButtonData = "hindrance"."button_data", Message, Free, [];
    HindranceButtonAddress = "hindrance"."button_address", Message, Free, [];
    HindranceNoStaffChat = "hindrance"."no_staff_chat", Message, Free, [];
    HindranceNothingToSay = "hindrance"."nothing_to_say", Message, Free, [];

    // What was said, in a few words.
    KindDialog = "kind"."dialog", Message, Free, [];
    KindCard = "kind"."card", Message, Free, [];
    KindCreated = "kind"."created", Message, Free, [];
    KindRejected = "kind"."rejected", Message, Free, [];
    KindWaiting = "kind"."waiting", Message, Free, [];
    KindOther = "kind"."other", Message, Free, [];

    // How a call to the CRM ended.
    AttemptCreated = "attempt"."created", Message, Free, [];
    AttemptRefused = "attempt"."refused", Message, Free, [];
    AttemptNotSent = "attempt"."not_sent", Message, Free, [];
    AttemptUnfit = "attempt"."unfit", Message, Free, [];
    AttemptInFlight = "attempt"."in_flight", Message, Free, [];
    AttemptExists = "attempt"."exists", Message, Free, [];
    AttemptLost = "attempt"."lost", Message, Free, [];
    AttemptLeaseEnded = "attempt"."lease_ended", Message, Free, [];
    AttemptOpen = "attempt"."open", Message, Free, [];
    AttemptBecauseSlow = "attempt"."because_slow", Message, Free, [];
    AttemptBecauseBroken = "attempt"."because_broken", Message, Free, [];
    AttemptBecauseClosed = "attempt"."because_closed", Message, Free, [];
    AttemptBecauseName = "attempt"."because_name", Message, Free, [];
    AttemptBecauseTls = "attempt"."because_tls", Message, Free, [];
    AttemptBecauseStatus = "attempt"."because_status", Message, Free, ["status"];
    AttemptBecauseCut = "attempt"."because_cut", Message, Free, ["status"];
    AttemptDetail = "attempt"."detail", Message, Free, ["detail"];

    // What happened, for the history of an operation.
    => "event" {
        EventConfirmed = "confirmed", EventFileLeftOut = "file_left_out", EventTappedAgain = "tapped_again",
        EventClaimed = "claimed", EventCreated = "created", EventRefused = "refused", EventNotSent = "not_sent",
        EventUnfit = "unfit", EventInFlight = "in_flight", EventExists = "exists", EventLost = "lost",
        EventLeaseEnded = "lease_ended", EventFound = "found", EventMissed = "missed", EventUnsure = "unsure",
        EventLookImpossible = "look_impossible", EventCandidateStands = "candidate_stands",
        EventCandidateFalls = "candidate_falls", EventCandidateKeyless = "candidate_keyless",
        EventWaitedTooLong = "waited_too_long", EventDecidedLink = "decided_link",
        EventDecidedLinkKeyless = "decided_link_keyless", EventDecidedLinkUnverified = "decided_link_unverified",
        EventDecidedLookAgain = "decided_look_again", EventDecidedCreateAfterAll = "decided_create_after_all",
        EventDecidedReject = "decided_reject", EventCancelled = "cancelled", EventClockSetBack = "clock_set_back",
        EventClockSetForward = "clock_set_forward", EventTaken = "taken", EventHandedBack = "handed_back",
        EventTakeExpired = "take_expired", EventReminded = "reminded", EventEscalated = "escalated",
        EventAskedConsent = "asked_consent", EventToldWaiting = "told_waiting", EventTwinSettled = "twin_settled",
        EventLetGo = "let_go", EventSendAgain = "send_again", EventReplayed = "replayed",
        EventUndelivered = "undelivered", EventMessageUnknown = "message_unknown", EventCardDeleted = "card_deleted",
        EventMessageUnsent = "message_unsent", EventTopicClosed = "topic_closed", EventChatMoved = "chat_moved",
        EventTelegramRefusesUs = "telegram_refuses_us", EventPaused = "paused", EventResumed = "resumed",
        EventErased = "erased",
    }
}
