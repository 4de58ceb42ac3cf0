//! Every parser of the command line sees every text.
//!
//! None panics, and what one understands it can also show: as a text that means the same.

#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use conclave_algorithms::quorum::{Construction, OwnSets};
use conclave_sim::{
    Crash, Drift, Intervention, Network, Partition, Pause, Probability, Return, Slow, Workload,
};
use conclave_workbench::notation::{Voting, parse_time, read};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // What is not text never gets as far as a parser, and a corpus is to be read by people.
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    on_text(text);
    Corpus::Keep
});

fn on_text(text: &str) {
    same_when_read_again(text, parse_time);
    same_when_read_again(text, read::<Network>);
    same_when_read_again(text, read::<Workload>);
    same_when_read_again(text, read::<Crash>);
    same_when_read_again(text, read::<Return>);
    same_when_read_again(text, read::<Pause>);
    same_when_read_again(text, read::<Partition>);
    same_when_read_again(text, read::<Probability>);
    same_when_read_again(text, read::<Slow>);
    same_when_read_again(text, read::<Drift>);
    same_when_read_again(text, read::<Intervention>);
    same_when_read_again(text, Construction::from_str);
    same_when_read_again(text, OwnSets::from_str);
    same_when_read_again(text, read::<Voting>);
    if let Err(error) = conclave_cli::service::words::duration(text) {
        assert!(!error.is_empty(), "{text:?} is refused without a word");
    }
}

fn same_when_read_again<T, E>(text: &str, parse: fn(&str) -> Result<T, E>)
where
    T: Display + Debug + PartialEq,
    E: Display + Debug,
{
    match parse(text) {
        Ok(value) => {
            let shown = value.to_string();
            let again = parse(&shown);
            assert!(
                again.as_ref().is_ok_and(|again| *again == value),
                "{text:?} is {value:?}, which is shown as {shown:?}, which is {again:?}"
            );
        }
        Err(error) => assert!(!error.to_string().is_empty(), "{text:?} is refused without a word"),
    }
}
