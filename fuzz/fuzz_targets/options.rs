//! Every parser of the command line sees every text.
//!
//! None panics, and what one understands it can also show: as a text that means the same.

#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use conclave_algorithms::quorum::Construction;
use conclave_sim::{
    Crash, Network, Partition, Pause, Probability, Return, Workload, parse_duration,
};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // What is not text never gets as far as a parser, and a corpus is to be read by people.
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    on_text(text);
    Corpus::Keep
});

fn on_text(text: &str) {
    same_when_read_again(text, parse_duration);
    same_when_read_again(text, Network::from_str);
    same_when_read_again(text, Workload::from_str);
    same_when_read_again(text, Crash::from_str);
    same_when_read_again(text, Return::from_str);
    same_when_read_again(text, Pause::from_str);
    same_when_read_again(text, Partition::from_str);
    same_when_read_again(text, Probability::from_str);
    same_when_read_again(text, Construction::from_str);
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
