//! Times on the command line, and who takes them.

use anyhow::bail;
use conclave_algorithms::catalogue::{Entry, Setting, Timing};
use conclave_observe::Time;

use super::TimingArgs;

impl TimingArgs {
    /// What timers are set to, if messages take as long as `bound` where nothing else is said.
    pub fn timing(&self, bound: Time) -> Timing {
        let duration = |time: Option<Time>| time.map(Time::as_duration);
        let usual = Timing::of(self.bound.unwrap_or(bound).as_duration());
        Timing {
            answer: duration(self.answer_timeout),
            announcement: duration(self.announcement_timeout),
            skip_dead: self.skip_dead,
            beat: duration(self.beat),
            phi_hundredths: self.phi.unwrap_or(usual.phi_hundredths),
            lease: duration(self.lease),
            session: duration(self.session),
            ..usual
        }
    }

    /// Refuses what an algorithm has no use for.
    pub fn check_fit(&self, entry: &Entry) -> anyhow::Result<()> {
        let settings = [
            (Setting::Bound, self.bound.is_some()),
            (Setting::Answer, self.answer_timeout.is_some()),
            (Setting::Announcement, self.announcement_timeout.is_some()),
            (Setting::SkipDead, self.skip_dead),
            (Setting::Beat, self.beat.is_some()),
            (Setting::Phi, self.phi.is_some()),
            (Setting::Lease, self.lease.is_some()),
            (Setting::Session, self.session.is_some()),
        ];
        let is_foreign =
            |(setting, given): &&(Setting, bool)| *given && !entry.settings.contains(setting);
        if let Some((setting, _)) = settings.iter().find(is_foreign) {
            let takes: Vec<_> = entry.settings.iter().map(|it| it.option()).collect();
            let takes = if takes.is_empty() { "no timers".into() } else { takes.join(", ") };
            bail!("{} has no use for {}; it takes {takes}", entry.name, setting.option());
        }
        Ok(())
    }
}
