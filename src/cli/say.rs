//! What the commands print. A reader that has gone away (`… | head -1`) is no fault of the command: what nobody reads is let
//! go, and the command ends as it would have ended. Any other trouble with the output is told at the end.

use std::{
    fmt::Arguments,
    io::{self, ErrorKind, Write},
    sync::OnceLock,
};

/// Why the output is not whole; only the first reason is kept.
static CUT: OnceLock<String> = OnceLock::new();

/// In the place of the standard macro, in every command: that one panics where the reader has gone.
macro_rules! println {
    () => { $crate::cli::say::words(format_args!("\n")) };
    ($($words:tt)*) => { $crate::cli::say::line(format_args!($($words)*)) };
}

/// In the place of the standard macro.
macro_rules! print {
    ($($words:tt)*) => { $crate::cli::say::words(format_args!($($words)*)) };
}

/// In the place of the standard macro; nobody is left to tell that it cannot be written.
macro_rules! eprintln {
    ($($words:tt)*) => { $crate::cli::say::complaint(format_args!($($words)*)) };
}

/// A line on standard output.
pub(super) fn line(words: Arguments<'_>) {
    kept(writeln!(io::stdout(), "{words}"));
}

/// Words on standard output.
pub(super) fn words(words: Arguments<'_>) {
    kept(write!(io::stdout(), "{words}"));
}

/// A line on standard error.
pub(super) fn complaint(words: Arguments<'_>) {
    drop(writeln!(io::stderr(), "{words}"));
}

/// Why not all of the output could be written; `None` where all was, or where its reader had heard enough.
pub(super) fn cut() -> Option<&'static str> {
    kept(io::stdout().flush());
    CUT.get().map(String::as_str)
}

fn kept(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        // An earlier reason says more.
        drop(CUT.set(error.to_string()));
    }
}
