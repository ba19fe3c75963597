#include <array>

#include "tools/lab/tokenizers_lab.h"

namespace vitrine::lab {
namespace {

// One content, so that what a language takes can be compared; the code says it in its own way.
constexpr std::array kLabTexts = {
    LabText{"English",
            "The train to the coast leaves at half past seven. If you miss it, wait in the small café opposite the "
            "station: the next one comes an hour later, and the coffee there is better than anywhere else in town."},
    LabText{"German",
            "Der Zug an die Küste fährt um halb acht. Wenn du ihn verpasst, warte in dem kleinen Café gegenüber dem "
            "Bahnhof: Der nächste kommt eine Stunde später, und der Kaffee dort ist besser als irgendwo sonst in der "
            "Stadt."},
    LabText{
        "French",
        "Le train pour la côte part à sept heures et demie. Si tu le manques, attends dans le petit café en face de "
        "la gare : le suivant arrive une heure plus tard, et le café y est meilleur que partout ailleurs en ville."},
    LabText{
        "Chinese",
        "开往海边的火车七点半出发。如果没赶上，就在车站对面的小咖啡馆里等：下一班一小时后到，那里的咖啡比城里任何地方的"
        "都好。"},
    LabText{"Japanese",
            "海岸行きの列車は七時半に出ます。乗り遅れたら、駅の向かいの小さなカフェで待ってください。次の列車は一時間後"
            "に来ますし、"
            "あそこのコーヒーは町のどこよりもおいしいです。"},
    LabText{"Russian",
            "Поезд к побережью отходит в половине восьмого. Если опоздаешь на него, подожди в маленьком кафе напротив "
            "вокзала: следующий придёт через час, а кофе там лучше, чем где-либо ещё в городе."},
    LabText{"Arabic",
            "يغادر القطار المتجه إلى الساحل في السابعة والنصف. إذا فاتك فانتظر في المقهى الصغير المقابل للمحطة: القطار "
            "التالي يصل بعد ساعة، والقهوة هناك أفضل من أي مكان آخر في المدينة."},
    LabText{
        "Hindi",
        "तट की ओर जाने वाली रेलगाड़ी साढ़े सात बजे निकलती है। अगर वह छूट जाए तो स्टेशन के सामने वाले छोटे कैफ़े में रुकिए: अगली गाड़ी एक घंटे "
        "बाद आती है, और वहाँ की कॉफ़ी शहर में सबसे अच्छी है।"},
    LabText{
        "Python",
        "def next_departure(now, departures):\n    \"\"\"The first train that leaves after now, or None.\"\"\"\n    "
        "for "
        "departure in sorted(departures):\n        if departure.time > now:\n            return departure\n    return "
        "None\n"}};

}  // namespace

std::span<const LabText> lab_texts() {
  return kLabTexts;
}

}  // namespace vitrine::lab
