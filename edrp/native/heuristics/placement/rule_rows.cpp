// Rules of a deployment, judged by themselves.
#include "edrp/native/heuristics/placement/rule_rows.hpp"

#include "edrp/native/python.hpp"

namespace edrp {
namespace {

std::tuple<i64, double, double> judge(const RuleRows& rows, const Ints2& counts) {
    const RuleVerdict verdict = judge_rules(rows, counts);
    return {verdict.broken, verdict.breach, verdict.price};
}

const Kernels here{
    kernel<judge>("judge_rules", "Rules that are broken, by how much in all, and what violations of others cost.")};

}  // namespace
}  // namespace edrp
