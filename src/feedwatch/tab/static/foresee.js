// The same steps under a change, as the model of the supply expects them: every batch goes through its stages in turn.
const DEEP = 2; // batches that a lane may be ahead of the loop, the one in the making included

/** pace: the model's word on a usual batch, from the first finding; usual: what a step of the run takes besides waiting, in ms */
export function foreseen(excerpt, pace, workers, usual) {
  const rests = restsOf(excerpt, pace.step_ms, usual), stages = stagesOf(pace, workers);
  const warm = stages.reduce((sum, stage) => sum + stage.lanes, 0) * DEEP + 4;
  const play = (steps, extra) => played(steps, stages, {ahead: pace.ahead, warm, extra, numbers: batchesOf(excerpt)});
  // Usual steps take the pace's own time; what the lanes alone do not explain of it is waiting.
  const even = play(rests.map(() => [{key: 'compute', took: pace.step_ms}]), 0);
  return play(rests, Math.max(0, pace.batch_ms - even.wall / rests.length));
}

// The batches of the shown steps keep their numbers; of others, made before or ahead, nobody knows whether there are any.
function batchesOf(excerpt) {
  const loop = excerpt.lanes.find((lane) => lane.kind === 'loop'), waits = loop.spans.filter((span) => span.key === 'input_wait');
  return waits.length === excerpt.steps.length ? waits.map((span) => span.batch) : [];
}

// Steps keep their differences: the slow one stays the slow one, and slow steps do not become usual ones by the change.
function restsOf(excerpt, mean, usual) {
  const loop = excerpt.lanes.find((lane) => lane.kind === 'loop');
  const rests = excerpt.steps.map((_, i) => {
    const from = excerpt.begins[i], to = i + 1 < excerpt.begins.length ? excerpt.begins[i + 1] : excerpt.wall;
    const mine = loop.spans.filter((span) => span.key !== 'input_wait' && span.from >= from - 1e-6 && span.from < to && ['h2d', 'compute', 'other'].includes(span.key));
    return mine.map((span) => ({key: span.key, took: Math.min(span.took, to - span.from)}));
  });
  const total = rests.flat().reduce((sum, span) => sum + span.took, 0);
  const scale = total > 0 ? mean / (usual ?? total / rests.length) : 0;
  return rests.map((spans) => (scale ? spans.map((span) => ({...span, took: span.took * scale})) : [{key: 'compute', took: mean}]));
}

function stagesOf(pace, workers) {
  return pace.stages.map((stage) => {
    const lanes = Math.max(1, Math.round(stage.lanes));
    // Workers have lanes of their own in the picture. Parallel calls of tf.data work on one batch together.
    return workers ? {name: stage.name, lanes, took: stage.ms} : {name: stage.name === 'loading' ? 'Loading' : stage.name, lanes: 1, took: stage.ms / stage.lanes};
  });
}

function played(rests, stages, {ahead, warm, extra, numbers}) {
  // The lanes work ahead: what they make during the last steps is for steps that are not shown.
  const count = rests.length + warm, free = stages.map((stage) => new Array(stage.lanes).fill(0));
  const made = stages.map(() => []), loop = [], begins = [], left = [];
  let now = 0, end = 0;
  for (let batch = 0; batch < count + warm; batch += 1) {
    const asked = now;
    let ready = ahead ? 0 : asked;
    stages.forEach((stage, s) => {
      const lane = batch % stage.lanes, room = ahead ? left[batch - stage.lanes * DEEP] ?? 0 : 0;
      const from = Math.max(ready, free[s][lane], room);
      free[s][lane] = ready = from + stage.took;
      made[s].push({lane, from, took: stage.took, batch: numbers[batch - warm] ?? null});
    });
    const waited = Math.max(0, ready - asked) + extra;
    begins.push(asked);
    if (waited > 0) loop.push({from: asked, took: waited, key: 'input_wait'});
    left[batch] = now = asked + waited;
    for (const span of rests[Math.max(0, batch - warm) % rests.length]) {
      loop.push({from: now, took: span.took, key: span.key});
      now += span.took;
    }
    if (batch === count - 1) end = now;
  }
  return shifted(end, begins.slice(warm, count), loop, made, stages, ahead);
}

function shifted(end, begins, loop, made, stages, ahead) {
  const zero = begins[0];
  const cut = (spans) => spans.filter((span) => span.from + span.took > zero && span.from < end)
    .map((span) => ({...span, from: span.from - zero, took: Math.min(span.took, end - span.from)}));
  const named = (stage, lane) => (stage.name !== 'loading' && stage.lanes === 1 ? stage.name : ahead ? `Worker ${lane}` : 'Loading');
  const lanes = stages.flatMap((stage, s) => Array.from({length: stage.lanes}, (_, lane) => ({
    kind: 'stage', name: named(stage, lane), estimated: true, spans: cut(made[s].filter((span) => span.lane === lane)).map((span) => ({...span, key: 'load'}))})));
  return {why: 'foreseen', begins: begins.map((begin) => begin - zero), wall: end - zero, lanes: [...lanes, {kind: 'loop', name: 'Training loop', estimated: true, spans: cut(loop)}]};
}
