//! How much memory a command of the lab may take.

use std::fs;

use clap::Args;
use conclave_workbench::need::MEMORY_MAX;

/// How much memory it may take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct MemoryArgs {
    /// Take at most that much memory, e.g. 500MiB or 8GiB: what needs more is refused, and a search
    /// gives up [default: 8GiB, or what the machine has free if that is less]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
}

impl MemoryArgs {
    /// How many bytes it may take.
    pub fn limit(&self) -> u64 {
        self.max_memory.unwrap_or_else(|| MEMORY_MAX.min(free().unwrap_or(MEMORY_MAX)))
    }
}

/// How much memory the machine can give; `None` where it does not say.
fn free() -> Option<u64> {
    let machine = available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    // A container has a limit of its own.
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    Some(limit.map_or(machine, |limit| machine.min(limit.saturating_sub(used))))
}

/// What `/proc/meminfo` says is available.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || "a size is a number with MiB or GiB, e.g. 500MiB or 8GiB".to_owned();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "GiB" | "G" => 30,
        "MiB" | "M" => 20,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    number.checked_mul(1 << unit).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_memory_is_what_the_kernel_calls_available() {
        let text = "MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available(text), Some(2 << 20));
        for text in ["", "MemAvailable: many kB", "MemAvailable: 12"] {
            assert_eq!(available(text), None, "{text}");
        }
    }
}
