// The same steps under a change, as the model of the supply expects them: every batch goes through its stages in turn.
const DEEP = 2; // batches that a lane may be ahead of the loop, the one in the making included

/** pace: the model's word on one batch, from the first finding. The picture's mean step is the pace's own. */
export function foreseen(excerpt, pace, workers) {
  const rests = restsOf(excerpt, pace.step_ms), stages = stagesOf(pace, workers);
  const warm = stages.reduce((sum, stage) => sum + stage.lanes, 0) * DEEP + 4;
  const plain = played(rests, stages, pace.ahead, warm, 0);
  const missing = Math.max(0, pace.batch_ms - plain.wall / rests.length);
  return missing > 0 ? played(rests, stages, pace.ahead, warm, missing) : plain;
}

// Steps keep their differences: the slow one stays the slow one.
function restsOf(excerpt, mean) {
  const loop = excerpt.lanes.find((lane) => lane.kind === 'loop');
  const rests = excerpt.steps.map((_, i) => {
    const from = excerpt.begins[i], to = i + 1 < excerpt.begins.length ? excerpt.begins[i + 1] : excerpt.wall;
    const mine = loop.spans.filter((span) => span.key !== 'input_wait' && span.from >= from - 1e-6 && span.from < to && ['h2d', 'compute', 'other'].includes(span.key));
    return mine.map((span) => ({key: span.key, took: Math.min(span.took, to - span.from)}));
  });
  const total = rests.flat().reduce((sum, span) => sum + span.took, 0);
  const scale = total > 0 ? (mean * rests.length) / total : 0;
  return rests.map((spans) => (scale ? spans.map((span) => ({...span, took: span.took * scale})) : [{key: 'compute', took: mean}]));
}

function stagesOf(pace, workers) {
  return pace.stages.map((stage) => {
    const lanes = Math.max(1, Math.round(stage.lanes));
    // Workers have lanes of their own in the picture. Parallel calls of tf.data work on one batch together.
    return workers ? {name: stage.name, lanes, took: stage.ms} : {name: stage.name, lanes: 1, took: stage.ms / stage.lanes};
  });
}

function played(rests, stages, ahead, warm, extra) {
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
      made[s].push({lane, from, took: stage.took});
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
    .map((span) => ({...span, from: span.from - zero, took: Math.min(span.took, end - span.from), batch: null}));
  const named = (stage, lane) => (stage.name !== 'loading' && stage.lanes === 1 ? stage.name : ahead ? `Worker ${lane}` : 'Loading');
  const lanes = stages.flatMap((stage, s) => Array.from({length: stage.lanes}, (_, lane) => ({
    kind: 'stage', name: named(stage, lane), estimated: true, spans: cut(made[s].filter((span) => span.lane === lane)).map((span) => ({...span, key: 'load'}))})));
  return {why: 'foreseen', begins: begins.map((begin) => begin - zero), wall: end - zero, lanes: [...lanes, {kind: 'loop', name: 'Training loop', estimated: true, spans: cut(loop)}]};
}
