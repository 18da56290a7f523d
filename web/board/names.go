package board

import (
	"math/rand/v2"
)

// names are the two halves of nicknames, each in English and in Chinese.
var names = struct{ first, second [][2]string }{
	first: [][2]string{
		{"Quiet", "安静的"},
		{"Red", "红色的"},
		{"Swift", "敏捷的"},
		{"Brave", "勇敢的"},
		{"Calm", "沉着的"},
		{"Clever", "聪明的"},
		{"Happy", "快乐的"},
		{"Gentle", "温和的"},
		{"Bright", "明亮的"},
		{"Curious", "好奇的"},
		{"Golden", "金色的"},
		{"Silver", "银色的"},
		{"Patient", "耐心的"},
		{"Lucky", "幸运的"},
		{"Merry", "欢快的"},
		{"Nimble", "灵巧的"},
		{"Proud", "自豪的"},
		{"Wise", "睿智的"},
		{"Sunny", "阳光的"},
		{"Tiny", "小小的"},
		{"Blue", "蓝色的"},
		{"Green", "绿色的"},
		{"Friendly", "友好的"},
		{"Honest", "诚实的"},
		{"Jolly", "开朗的"},
		{"Kind", "善良的"},
		{"Lively", "活泼的"},
		{"Polite", "礼貌的"},
		{"Steady", "稳重的"},
		{"Warm", "温暖的"},
		{"Early", "早起的"},
		{"Playful", "顽皮的"},
		{"Keen", "敏锐的"},
		{"Modest", "谦虚的"},
		{"Noble", "高贵的"},
		{"Sturdy", "结实的"},
		{"Cheerful", "乐观的"},
		{"Daring", "大胆的"},
		{"Eager", "热心的"},
		{"Graceful", "优雅的"},
	},
	second: [][2]string{
		{"Otter", "水獭"},
		{"Panda", "熊猫"},
		{"Heron", "苍鹭"},
		{"Fox", "狐狸"},
		{"Badger", "獾"},
		{"Crane", "仙鹤"},
		{"Dolphin", "海豚"},
		{"Falcon", "猎鹰"},
		{"Hedgehog", "刺猬"},
		{"Koala", "考拉"},
		{"Lynx", "猞猁"},
		{"Magpie", "喜鹊"},
		{"Owl", "猫头鹰"},
		{"Penguin", "企鹅"},
		{"Rabbit", "兔子"},
		{"Seal", "海豹"},
		{"Tiger", "老虎"},
		{"Turtle", "乌龟"},
		{"Whale", "鲸鱼"},
		{"Wolf", "狼"},
		{"Zebra", "斑马"},
		{"Beaver", "河狸"},
		{"Camel", "骆驼"},
		{"Deer", "小鹿"},
		{"Eagle", "老鹰"},
		{"Finch", "雀鸟"},
		{"Giraffe", "长颈鹿"},
		{"Hamster", "仓鼠"},
		{"Kingfisher", "翠鸟"},
		{"Lark", "百灵鸟"},
		{"Marmot", "土拨鼠"},
		{"Newt", "蝾螈"},
		{"Pelican", "鹈鹕"},
		{"Robin", "知更鸟"},
		{"Sparrow", "麻雀"},
		{"Swan", "天鹅"},
		{"Squirrel", "松鼠"},
		{"Dragonfly", "蜻蜓"},
		{"Butterfly", "蝴蝶"},
		{"Salmon", "三文鱼"},
	},
}

// freeName draws a nickname that none of these people has, or any if all are taken.
func freeName(people map[string]*Member) int {
	taken := map[int]bool{}
	for _, m := range people {
		taken[m.Name] = true
	}
	all := rand.Perm(len(names.first) * len(names.second))
	for _, name := range all {
		if !taken[name] {
			return name
		}
	}
	return all[0]
}

// Nickname returns a member's nickname in a language, by its code; in English if
// that language has none.
func Nickname(name int, lang string) string {
	at, space := 0, " "
	if lang == "zh-CN" {
		at, space = 1, ""
	}
	return names.first[name%len(names.first)][at] + space + names.second[name/len(names.first)%len(names.second)][at]
}
