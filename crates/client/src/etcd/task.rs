//! A request of the application: begun where it is asked, brought to its end by the engine.
//!
//! The first step, which writes to the server, is taken at once by whoever asks, on its own thread:
//! nobody has to be woken for it. All that follows is a task of the engine, on the engine's thread,
//! from the moment at which there is something to go on with. So a call wakes the engine once, when
//! the answer is there, and the caller once, when all is done.
//!
//! # Why nothing is lost
//!
//! What was begun does not belong to whoever asked. It may stop waiting, or never be polled again:
//! what was sent is known to have happened or not all the same, and what nobody wants any more is
//! taken back. Between the first step and the second the request lies in `Begun`, which whatever it
//! waits for keeps alive by the waker that it was given. The engine's thread ends only when nobody
//! has a share in its business, and everything that is begun has one.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

type Rest = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes the first step of `task` here. The engine does the rest, and tells what came of it.
pub fn begin<T, F>(engine: &Handle, task: F) -> oneshot::Receiver<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (tell, told) = oneshot::channel();
    begin_alone(engine, async move {
        let _ = tell.send(task.await);
    });
    told
}

/// Takes the first step of `task` here, for a task that tells by itself what came of it.
pub fn begin_alone(engine: &Handle, task: impl Future<Output = ()> + Send + 'static) {
    let mut task: Rest = Box::pin(task);
    let begun = Arc::new(Begun { engine: engine.clone(), step: Mutex::new(Step::First) });
    let waker = Waker::from(Arc::clone(&begun));
    // Its timers and connections are the engine's, wherever it is begun.
    let entered = engine.enter();
    let done = task.as_mut().poll(&mut Context::from_waker(&waker));
    drop(entered);
    if done.is_pending() {
        begun.wait(task);
    }
}

/// Something whose first step was taken.
struct Begun {
    engine: Handle,
    step: Mutex<Step>,
}

enum Step {
    /// It is taken just now.
    First,
    /// It can go on, but the first step is not over yet.
    Woken,
    /// It waits for something.
    Waiting(Rest),
    /// The engine has it.
    HandedOver,
}

impl Begun {
    /// Lets it wait, unless what it waits for was there before the first step was over.
    fn wait(&self, rest: Rest) {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*step, Step::Woken) {
            *step = Step::HandedOver;
            drop(step);
            self.engine.spawn(rest);
        } else {
            *step = Step::Waiting(rest);
        }
    }
}

impl Wake for Begun {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *step, Step::HandedOver) {
            Step::First | Step::Woken => *step = Step::Woken,
            Step::HandedOver => {}
            Step::Waiting(rest) => {
                drop(step);
                self.engine.spawn(rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::thread::{self, ThreadId};

    use super::*;

    /// An engine, and its thread.
    fn engine() -> (Handle, ThreadId, oneshot::Sender<()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let run = move || runtime.block_on(async move { drop(ended.await) });
        let id = thread::spawn(run).thread().id();
        (handle, id, end)
    }

    #[test]
    fn the_first_step_is_taken_here_and_the_next_by_the_engine() {
        let (engine, thread, _end) = engine();
        let (go, gone) = oneshot::channel::<()>();
        let (first, begun) = oneshot::channel();
        let done = begin(&engine, async move {
            first.send(thread::current().id()).unwrap();
            gone.await.unwrap();
            thread::current().id()
        });
        assert_eq!(begun.blocking_recv(), Ok(thread::current().id()));
        go.send(()).unwrap();
        assert_eq!(done.blocking_recv(), Ok(thread));
    }

    #[test]
    fn what_nobody_waits_for_is_brought_to_its_end() {
        let (engine, _, _end) = engine();
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        drop(begin(&engine, async move {
            gone.await.unwrap();
            tell.send("done").unwrap();
        }));
        go.send(()).unwrap();
        assert_eq!(told.blocking_recv(), Ok("done"));
    }

    #[test]
    fn who_is_woken_within_the_first_step_goes_on() {
        let (engine, thread, _end) = engine();
        let mut is_woken = false;
        let done = begin(&engine, async move {
            poll_fn(|context| {
                if std::mem::replace(&mut is_woken, true) {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            thread::current().id()
        });
        assert_eq!(done.blocking_recv(), Ok(thread));
    }
}
