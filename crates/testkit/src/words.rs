//! Command lines, as they stand in pages and transcripts.

/// The words of a line, as a shell takes them: what is between quotes is one.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars() {
        match letter {
            '\'' | '"' if quote.is_none_or(|it| it == letter) => {
                quote = if quote.is_none() { Some(letter) } else { None };
            }
            letter if letter.is_whitespace() && quote.is_none() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            letter => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}
